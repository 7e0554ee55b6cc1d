"""Settings, from the environment where they differ per installation."""

import os

HOST = "127.0.0.1"
PORT = int(os.environ.get("SHOP_PORT", "8080"))
DATABASE = os.environ.get("SHOP_DB", "shop.db")
INVOICES = os.environ.get("SHOP_INVOICES", "invoices")
RATES_URL = os.environ.get("SHOP_RATES_URL", "https://rates.example.com/latest.json")
PAYMENT_URL = os.environ.get("SHOP_PAYMENT_URL", "https://pay.example.com/v1/charges")

PAGE_SIZE = 20
FREE_SHIPPING_FROM = 5000

SHIPPING = {
    "DE": 490,
    "AT": 790,
    "CH": 1290,
    "FR": 890,
    "NL": 790,
    "AT": 890,
}
