"""The SSH library: paramiko, loaded without half of what it would bring along, and what all logins share."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import paramiko

_LIBRARY = "paramiko"
_METADATA = "importlib.metadata"
_SWITCH_S = ((256, 0.001), (1024, 0.005), (sys.maxsize, 0.05))  # with up to so many leases
_once = threading.Lock()


def load() -> None:
    """Import it; more than one thread may call.

    `invoke` serves only `Match exec` of ssh_config files: it is hidden. `importlib.metadata`, with
    the e-mail parser and zip files behind it, is asked for a version and for nothing else.
    """
    with _once:
        if _LIBRARY in sys.modules:
            return
        give_way(0)
        sys.modules.setdefault("invoke", None)  # type: ignore[arg-type]
        with _versions_alone():
            import paramiko  # noqa: F401, PLC0415 - the purpose


def give_way(leases: int) -> None:
    """Choose how soon a thread asks for the interpreter that another one holds.

    Many logins at once compute in as many threads: with few leases the loop gets its turn five times
    as often as usual. But each thread that waits wakes that often, and each lease has one: those of
    thousands, awake at once, would do nothing else.
    """
    seconds = next(value for most, value in _SWITCH_S if leases <= most)
    if sys.getswitchinterval() != seconds:
        sys.setswitchinterval(seconds)


def key(path: str) -> paramiko.PKey:
    """Read the job's own key: once for thousands of logins, and anew where an attempt has laid it anew."""
    return _key_of(path, Path(path).stat().st_mtime_ns)


@functools.lru_cache(maxsize=1)
def _key_of(path: str, _laid_ns: int) -> paramiko.PKey:
    import paramiko  # noqa: PLC0415 - loaded already

    return paramiko.PKey.from_path(path)


def version(name: str) -> str:
    """Tell a package's version by the directory that its installer has left beside it."""
    spec = find_spec(name)
    for place in spec.submodule_search_locations or () if spec else ():
        for entry in Path(place).parent.glob(f"{name}-*.dist-info"):
            return entry.stem.partition("-")[2]
    return "unknown"


@contextlib.contextmanager
def _versions_alone() -> Iterator[None]:
    """Let the import system's metadata tell versions alone, where nobody has loaded all of it."""
    if _METADATA in sys.modules:
        yield
        return
    brief = ModuleType(_METADATA)
    brief.version = version  # type: ignore[attr-defined]
    sys.modules[_METADATA] = brief
    try:
        yield
    finally:
        del sys.modules[_METADATA]
