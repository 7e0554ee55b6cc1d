"""Charging cards through the payment service."""

import json
import urllib.error
import urllib.request

from shop import settings

ATTEMPTS = 3


def charge(email, amount, currency="EUR"):
    """Charge an amount in cents; the id of the charge."""
    body = json.dumps({"customer": email, "amount": amount, "currency": currency}).encode()
    request = urllib.request.Request(
        settings.PAYMENT_URL, data=body, headers={"Content-Type": "application/json"}
    )
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                answer = json.load(response)
        except urllib.error.URLError:
            continue
        if answer["status"] == "declined":
            raise PaymentDeclined(answer["reason"])
        return answer["id"]
    raise ConnectionError(f"no answer after {ATTEMPTS} attempts")


def rate(currency):
    """What one euro is in another currency."""
    with urllib.request.urlopen(settings.RATES_URL) as response:
        return json.load(response)["rates"][currency]
