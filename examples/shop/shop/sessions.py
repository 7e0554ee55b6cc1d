"""What the browser carries for us: the signed-in user and the cart, in one cookie."""

import base64
import pickle
from http.cookies import SimpleCookie

NAME = "shop_session"


class Session:
    """A visitor's state."""

    def __init__(self, user_id=None, lines=None):
        self.user_id = user_id
        self.lines = lines or []


def load(environ):
    """The session of a request; a new one where there is none."""
    cookie = SimpleCookie(environ.get("HTTP_COOKIE", ""))
    if NAME not in cookie:
        return Session()
    try:
        return pickle.loads(base64.b64decode(cookie[NAME].value))
    except:
        return Session()


def dump(session):
    """The Set-Cookie header that keeps a session."""
    value = base64.b64encode(pickle.dumps(session)).decode()
    return ("Set-Cookie", f"{NAME}={value}; Path=/; HttpOnly; SameSite=Lax")
