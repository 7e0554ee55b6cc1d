"""The database: one SQLite file."""

import sqlite3
from contextlib import contextmanager

from shop import settings

SCHEMA = """
create table if not exists products (
    id integer primary key, name text not null, description text not null,
    price integer not null, stock integer not null
);
create table if not exists users (
    id integer primary key, email text unique not null, password text not null,
    role text not null default 'customer', reset_token text
);
create table if not exists orders (
    id integer primary key, number integer, user_id integer not null,
    total integer not null, status text not null, created text not null default current_timestamp
);
create table if not exists order_lines (
    order_id integer not null, product_id integer not null, quantity integer not null,
    price integer not null
);
create table if not exists discounts (code text primary key, rule text not null);
"""


def create(path=None):
    """Create the tables of a new shop."""
    with connect(path) as connection:
        connection.executescript(SCHEMA)


@contextmanager
def connect(path=None):
    """A connection that commits at the end and is closed."""
    connection = sqlite3.connect(path or settings.DATABASE, timeout=10)
    connection.row_factory = sqlite3.Row
    try:
        with connection:
            yield connection
    finally:
        connection.close()
