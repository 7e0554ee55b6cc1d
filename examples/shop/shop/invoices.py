"""Invoices as text files."""

import os

from shop import db, settings


def path_of(name):
    """Where an invoice lies."""
    return os.path.join(settings.INVOICES, name)


def read(name):
    """An invoice, as the customer asked for it by its file name."""
    with open(path_of(name), encoding="utf-8") as stream:
        return stream.read()


def write(order_id):
    """Write the invoice of an order; its file name."""
    with db.connect() as connection:
        order = connection.execute("select * from orders where id = ?", (order_id,)).fetchone()
        lines = connection.execute(
            "select p.name, l.quantity, l.price from order_lines l"
            " join products p on p.id = l.product_id where l.order_id = ?",
            (order_id,),
        ).fetchall()
    os.makedirs(settings.INVOICES, exist_ok=True)
    name = f"invoice-{order['number']}.txt"
    stream = open(path_of(name), "w", encoding="utf-8")
    stream.write(f"Invoice {order['number']}\n\n")
    for line in lines:
        stream.write("%-40s %3d x %8.2f = %9.2f\n" % (line["name"], line["quantity"], line["price"] / 100))
    stream.write(f"\nTotal {order['total'] / 100:.2f} EUR\n")
    return name
