"""Load asyncio without TLS, which the agent's loop never speaks.

`ssl` brings OpenSSL's libraries into each process: some 10 ms of every start, and memory that a worker
keeps for as long as it idles. asyncio is written to work on a Python without that module, so it is
told that there is none while it loads; afterwards `ssl` can be imported as ever, as an https
client does. asyncio's own TLS stays off in this process.
"""

from __future__ import annotations

import sys
from types import ModuleType

_TLS = "ssl"


def load() -> None:
    """Import asyncio without `ssl`; nothing happens where either is loaded already."""
    if _TLS in sys.modules or "asyncio" in sys.modules:
        return
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    modules[_TLS] = None  # Python's own way to say that a module cannot be imported
    try:
        import asyncio  # noqa: F401, PLC0415 - the purpose
    finally:
        del modules[_TLS]
