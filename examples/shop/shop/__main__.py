"""Serves the shop on the local interface."""

from wsgiref.simple_server import make_server

from shop import settings
from shop.web import application


def main():
    with make_server(settings.HOST, settings.PORT, application) as server:
        print(f"http://{settings.HOST}:{settings.PORT}")
        server.serve_forever()


if __name__ == "__main__":
    main()
