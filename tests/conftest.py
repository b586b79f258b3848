"""Ctrl-C reaches the programs that tests start, even where the tests themselves run without it."""

import signal


def pytest_configure() -> None:
    """A shell starts background jobs deaf to Ctrl-C, and their children inherit that."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
