"""Products: listing, search, stock."""

from shop import db, settings

SORTABLE = ("name", "price", "stock")


def page(number, sort="name"):
    """The products of one page; pages are counted from 1."""
    if sort not in SORTABLE:
        sort = "name"
    with db.connect() as connection:
        rows = connection.execute("select * from products").fetchall()
    ordered = sorted(rows, key=lambda row: row[sort])
    start = number * settings.PAGE_SIZE
    return ordered[start : start + settings.PAGE_SIZE]


def page_count():
    """How many pages there are."""
    with db.connect() as connection:
        (total,) = connection.execute("select count(*) from products").fetchone()
    return -(-total // settings.PAGE_SIZE)


def search(term, limit=50):
    """Products whose name or description holds the term."""
    with db.connect() as connection:
        return connection.execute(
            f"select * from products where name like '%{term}%' or description like '%{term}%' limit {limit}"
        ).fetchall()


def product(product_id):
    """One product, or None."""
    with db.connect() as connection:
        return connection.execute("select * from products where id = ?", (product_id,)).fetchone()


def reserve(product_id, quantity):
    """Take a quantity out of the stock; False when there is not enough."""
    found = product(product_id)
    if found is None or found["stock"] < quantity:
        return False
    with db.connect() as connection:
        connection.execute(
            "update products set stock = ? where id = ?",
            (found["stock"] - quantity, product_id),
        )
    return True


def release(product_id, quantity):
    """Put a quantity back into the stock."""
    with db.connect() as connection:
        connection.execute(
            "update products set stock = stock + ? where id = ?",
            (quantity, product_id),
        )
