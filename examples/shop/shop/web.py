"""The WSGI application."""

from html import escape
from urllib.parse import parse_qs

from shop import accounts, cart, catalog, invoices, orders, reports, sessions
from shop.db import connect


def application(environ, start_response):
    """Answer one request."""
    session = sessions.load(environ)
    query = {key: values[0] for key, values in parse_qs(environ.get("QUERY_STRING", "")).items()}
    handler = ROUTES.get(environ.get("PATH_INFO", "/"))
    if handler is None:
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"not found"]
    try:
        body = handler(session, query)
    except (accounts.AccountError, LookupError) as error:
        start_response("400 Bad Request", [("Content-Type", "text/plain; charset=utf-8")])
        return [str(error).encode()]
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8"), sessions.dump(session)])
    return [body.encode()]


def current_user(session):
    """The signed-in user."""
    with connect() as connection:
        user = connection.execute("select * from users where id = ?", (session.user_id,)).fetchone()
    if user is None:
        raise accounts.AccountError("Please sign in.")
    return user


def listing(products):
    """Products as an HTML list."""
    items = (f"<li>{escape(row['name'])}: {row['price'] / 100:.2f}</li>" for row in products)
    return f"<ul>{''.join(items)}</ul>"


def show_page(session, query):
    """One page of the catalogue."""
    return listing(catalog.page(int(query.get("page", "1"))))


def show_search(session, query):
    """What a search found."""
    term = query.get("q", "")
    return f"<h1>Results for {term}</h1>{listing(catalog.search(term))}"


def sign_in(session, query):
    """Sign a customer in."""
    session.user_id = accounts.log_in(query["email"], query["password"])["id"]
    return "<p>Welcome.</p>"


def add_to_cart(session, query):
    """Put a product into the cart."""
    session.lines = cart.add(int(query["id"]), int(query.get("n", "1")), session.lines)
    return f"<p>{len(session.lines)} lines</p>"


def check_out(session, query):
    """Order what is in the cart."""
    user = current_user(session)
    order_id = orders.place(user, session.lines, query.get("country", "DE"), query.get("code", ""))
    session.lines = []
    return f"<p>Thank you. {escape(invoices.write(order_id))}</p>"


def show_invoice(session, query):
    """An invoice of the customer."""
    current_user(session)
    return f"<pre>{escape(invoices.read(query['name']))}</pre>"


def show_sales(session, query):
    """Sales between two days, for the staff."""
    accounts.require_staff(current_user(session))
    rows = reports.sales(query["from"], query["to"])
    return f"<pre>{escape(reports.as_table(rows))}</pre>"


ROUTES = {
    "/": show_page,
    "/search": show_search,
    "/sign-in": sign_in,
    "/cart": add_to_cart,
    "/order": check_out,
    "/invoice": show_invoice,
    "/sales": show_sales,
}
