"""Import paramiko without half of what it would bring along."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_LIBRARY = "paramiko"
_METADATA = "importlib.metadata"
_once = threading.Lock()


def load() -> None:
    """Import it; more than one thread may call.

    `invoke` serves only `Match exec` of ssh_config files: it is hidden. `importlib.metadata`, with
    the e-mail parser and zip files behind it, is asked for a version and for nothing else.
    """
    with _once:
        if _LIBRARY in sys.modules:
            return
        sys.modules.setdefault("invoke", None)  # type: ignore[arg-type]
        with _versions_alone():
            import paramiko  # noqa: F401, PLC0415 - the purpose


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
