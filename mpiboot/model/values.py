"""Raw texts and YAML values → the types of settings; a fault says what was expected."""

from __future__ import annotations

import shlex

from mpiboot.model import rankset, sources
from mpiboot.model.spec import Spec

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_YES = ("1", "yes", "true", "on")
_NO = ("0", "no", "false", "off")


def convert(spec: Spec, value: object) -> object:
    """Turn a raw value into the setting's type.

    Raises:
        ValueError: with the words for what was expected.
    """
    match spec.kind:
        case "flag":
            return _boolean(value)
        case "int":
            return int(_within(spec, _number(value, whole=True)))
        case "seconds":
            return _within(spec, _duration(value))
        case "slots":
            return _slots(value)
        case "words":
            return tuple(_words(value))
        case "pairs":
            return tuple(_pairs(value))
        case "sources":
            return sources.read(value)
        case "ranks":
            return rankset.read(_text(spec, value)).text
        case "text" | "secret" | "url" | "path":
            return _text(spec, value)


def _text(spec: Spec, value: object) -> str:
    if isinstance(value, bool | dict | list):
        raise ValueError("a text")  # noqa: TRY004 - one kind of fault for the caller
    try:
        text = str(value)
    except ValueError:  # a whole number of more digits than Python writes
        raise ValueError("a text") from None
    _check(text)
    if spec.choices:
        found = next((c for c in spec.choices if c.lower() == text.lower()), None)
        if found is None:
            raise ValueError("one of " + ", ".join(c for c in spec.choices if c))
        return found
    return text


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text in _YES:
        return True
    if text in _NO:
        return False
    raise ValueError("yes or no")


def _number(value: object, *, whole: bool) -> float:
    expected = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(expected)  # noqa: TRY004 - as above
    try:
        return int(str(value)) if whole else float(value)
    except (ValueError, OverflowError):
        raise ValueError(expected) from None


def _duration(value: object) -> float:
    if isinstance(value, str):
        text = value.strip()
        for unit in ("ms", "s", "m", "h", "d"):
            digits = text[: -len(unit)].replace(".", "", 1)
            if text.endswith(unit) and digits.isascii() and digits.isdigit():
                return float(text[: -len(unit)]) * _UNITS[unit]
    try:
        return _number(value, whole=False)
    except ValueError:
        raise ValueError("seconds, or a number with ms, s, m, h or d") from None


def _within(spec: Spec, number: float) -> float:
    low = float("-inf") if spec.least is None else spec.least
    high = float("inf") if spec.most is None else spec.most
    if not low <= number <= high or number == float("inf"):
        raise ValueError(f"{low:g} to {high:g}")
    return number


def _slots(value: object) -> str:
    text = str(value).lower()
    fits = text.isascii() and text.isdigit() and len(text) <= 8
    if text == "auto" or (fits and 1 <= int(text) <= 100_000):
        return text
    raise ValueError("a number from 1 to 100000, or auto")


def _words(value: object) -> list[str]:
    if isinstance(value, list):
        return [_check(str(word)) for word in value]
    if isinstance(value, dict):
        return [_check(f"{key}={item}") for key, item in value.items()]
    if isinstance(value, bool):
        raise ValueError("a list of words")  # noqa: TRY004 - as above
    try:
        return shlex.split(_check(str(value)))
    except ValueError as fault:
        raise ValueError(f"words as a shell would split them ({fault})") from None


def _pairs(value: object) -> list[str]:
    pairs = []
    for item in value if isinstance(value, list) else _words(value):
        pair = _check("=".join(map(str, item)) if isinstance(item, list | tuple) else str(item))
        if "=" not in pair or pair.startswith("="):
            raise ValueError("KEY=VALUE words")
        pairs.append(pair)
    return pairs


def _check(text: str) -> str:
    """Return a text that a file, an environment and a command line can hold.

    Raises:
        ValueError: they cannot.
    """
    if "\0" in text:
        raise ValueError("a text without NUL bytes")
    try:
        text.encode(errors="surrogateescape")  # a variable may hold bytes that are no UTF-8
    except UnicodeEncodeError:
        raise ValueError("a text without lone surrogates") from None
    return text
