"""JSON by the C half of `json`, which itself takes as long to import as an interpreter to start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class _Context:
    """What the scanner asks for how to read."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own


def read(text: str) -> dict[str, object]:
    """Read one object without blanks around it.

    Raises:
        ValueError: it is none.
    """
    try:
        from _json import make_scanner
    except ImportError:
        import json

        value = json.loads(text)
    else:
        try:
            value, _ = make_scanner(_Context)(text, 0)  # type: ignore[arg-type]
        except StopIteration:
            value = None
    if not isinstance(value, dict):
        raise ValueError("options are no JSON object")  # noqa: TRY004 - a wrong text, not a wrong type
    return value


def write(body: Mapping[str, int | str]) -> str:
    """Render an object of numbers and texts, in ASCII on one line."""
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:
        from json import dumps as quote

    pairs = (
        f"{quote(key)}:{quote(value) if isinstance(value, str) else value}"
        for key, value in body.items()
    )
    return "{" + ",".join(pairs) + "}"
