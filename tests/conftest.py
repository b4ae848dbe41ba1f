"""Fixtures for all tests."""

import signal

# Here, as pytest can rewrite the asserts of helpers only before a test module imports them.
pytest_plugins = (
    "tests.helpers.pods",
    "tests.helpers.agents",
    "tests.helpers.plain",
    "tests.helpers.browser",
)

# `nohup`, and a shell's `&`, leave signals ignored to all that they start, and so to our agents,
# which respect it.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        _default = signal.default_int_handler if _number is signal.SIGINT else signal.SIG_DFL
        signal.signal(_number, _default)
