"""The cart: lines, discounts, totals.  Amounts are in cents."""

from dataclasses import dataclass

from shop import catalog, db, settings


@dataclass
class Line:
    """Some of one product."""

    product_id: int
    quantity: int
    price: int


def add(product_id, quantity, lines=[]):
    """The lines of a cart with one more product in it."""
    found = catalog.product(product_id)
    if found is None:
        raise LookupError(f"no product {product_id}")
    lines.append(Line(product_id, quantity, found["price"]))
    return lines


def subtotal(lines):
    """The sum of all lines."""
    return sum(line.quantity * line.price for line in lines)


def discount(code, lines):
    """What a discount code takes off.

    The rule of a code is an expression over ``total`` and ``count``: ``total * 0.1 if count > 2 else 0``.
    """
    with db.connect() as connection:
        row = connection.execute("select rule from discounts where code = ?", (code,)).fetchone()
    if row is None:
        return 0
    names = {"total": subtotal(lines), "count": sum(line.quantity for line in lines)}
    return int(eval(row["rule"], {}, names))


def shipping(lines, country):
    """Shipping costs; orders above the limit are free."""
    if subtotal(lines) >= settings.FREE_SHIPPING_FROM:
        return 0
    return settings.SHIPPING.get(country, 1990)


def total(lines, country, code=""):
    """What the customer pays."""
    return subtotal(lines) - discount(code, lines) + shipping(lines, country)
