"""Fixtures that the tests share; panels need none."""

from __future__ import annotations

import signal

pytest_plugins = ["pytester"]

# A shell that starts the tests in the background leaves SIGINT ignored, and every process that a
# test starts would inherit that: Ctrl-C could not be tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
