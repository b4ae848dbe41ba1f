"""The settings file's YAML, bounded: whatever stands in it, it is a mapping or one clear line.

Imported where there is a file: a worker without one must not hold the library.
"""

from __future__ import annotations

import re

import yaml

from mpiboot.model import fields

MOST = 256 * 1024  # characters; the library takes 10 s for a megabyte
_SHOWN = 200
_TAG = re.compile(r"tag '.*'")


class _Plain(yaml.SafeLoader):
    """Takes no aliases: a few lines of them become gigabytes, and no setting needs them."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*) are not taken", problem_mark=mark)
        return super().compose_node(parent, index)


def load(text: str) -> dict[object, object]:
    """Read a mapping of settings; an empty text is an empty one.

    Raises:
        ValueError: it is none; in words.
    """
    if len(text) > MOST:
        raise ValueError(f"{len(text)} characters, {MOST} is the most")
    try:
        loaded = yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader
    except Exception as fault:  # noqa: BLE001 - its constructors raise of all kinds: `!!int ""`, `!!bool x`
        raise ValueError(f"not YAML: {_told(fault)}") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        found = type(loaded).__name__
        raise ValueError(f"expected a mapping of settings, found {found}")  # noqa: TRY004 - as above
    return loaded


def _told(fault: Exception) -> str:
    """Say what is wrong and where, without the text itself: that may be the secret."""
    if not isinstance(fault, yaml.MarkedYAMLError):
        return f"a value that does not fit its type ({type(fault).__name__})"
    mark = fault.problem_mark
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    reason = fields.printable(" ".join((fault.problem or fault.context or "").split()))
    return f"{_TAG.sub('tag', reason)[:_SHOWN]}{where}"


def key(value: object) -> str:
    """Render a key as people write it."""
    return value if isinstance(value, str) else fields.shown(value)
