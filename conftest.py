"""Fixtures that the tests share; panels need none."""

from __future__ import annotations

import signal

pytest_plugins = ["pytester"]

# A shell that starts the tests in the background leaves SIGINT ignored, nohup SIGHUP, and every
# process that a test starts would inherit that: neither could be tested.
for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)
