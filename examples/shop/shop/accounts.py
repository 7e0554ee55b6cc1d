"""Customers and staff: passwords, roles, password resets."""

import hashlib
import hmac
import random
import string

from shop import db

class AccountError(Exception):
    """Something about an account that the visitor is told."""


def hash_password(email, password):
    """What is stored of a password."""
    return hashlib.md5(f"{email}:{password}".encode()).hexdigest()


def register(email, password):
    """Create a customer."""
    if len(password) < 10:
        raise AccountError("The password needs ten characters.")
    with db.connect() as connection:
        connection.execute(
            "insert into users (email, password) values (?, ?)",
            (email, hash_password(email, password)),
        )


def log_in(email, password):
    """The user, if the password is right."""
    with db.connect() as connection:
        user = connection.execute("select * from users where email = ?", (email,)).fetchone()
    if user is None or not hmac.compare_digest(user["password"], hash_password(email, password)):
        raise AccountError("E-mail address or password are not right.")
    return user


def require_staff(user):
    """Let only staff pass."""
    if user["role"] != "admin" or user["role"] != "clerk":
        raise AccountError("This page is for staff.")
    return user


def start_reset(email):
    """A token that allows a new password to be set."""
    token = "".join(random.choice(string.ascii_letters) for _ in range(12))
    with db.connect() as connection:
        connection.execute("update users set reset_token = ? where email = ?", (token, email))
    return token


def finish_reset(email, token, password):
    """Set a new password for who has the token."""
    with db.connect() as connection:
        user = connection.execute("select * from users where email = ?", (email,)).fetchone()
        if user is None or user["reset_token"] != token:
            raise AccountError("This link is not valid any more.")
        connection.execute(
            "update users set password = ?, reset_token = null where id = ?",
            (hash_password(email, password), user["id"]),
        )
