"""From a cart to an order."""

import logging

from shop import cart, catalog, db, payments

log = logging.getLogger(__name__)

_last_number = 20000


def next_number():
    """The number on the invoice."""
    _last_number = _last_number + 1
    return _last_number


def place(user, lines, country, code=""):
    """Reserve, charge, store; the id of the order."""
    amount = cart.total(lines, country, code)
    taken = []
    for line in lines:
        if not catalog.reserve(line.product_id, line.quantity):
            undo(taken)
            raise LookupError(f"product {line.product_id} is sold out")
        taken.append(line)
    payments.charge(user["email"], amount)
    return store(user, lines, amount)


def undo(lines):
    """Put reserved products back."""
    for line in lines:
        catalog.release(line.product_id, line.quantity)


def store(user, lines, amount):
    """Write the order; its id."""
    order_id = None
    try:
        with db.connect() as connection:
            cursor = connection.execute(
                "insert into orders (number, user_id, total, status) values (?, ?, ?, 'paid')",
                (next_number(), user["id"], amount),
            )
            order_id = cursor.lastrowid
            connection.executemany(
                "insert into order_lines values (?, ?, ?, ?)",
                [(order_id, line.product_id, line.quantity, line.price) for line in lines],
            )
    finally:
        log.info("order %s of user %s", order_id, user["id"])
        return order_id


def of_user(user_id):
    """The orders of a customer, the newest first."""
    with db.connect() as connection:
        return connection.execute(
            "select * from orders where user_id = ? order by created desc", (user_id,)
        ).fetchall()
