"""Command line, environment and file → settings, and where each value came from.

All problems are told at once; each names what is wrong, where it stands and the nearest valid name.
"""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from mpiboot.errors import ExitCode, ProblemsError, UsageError
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import Spec

DEFAULT_CONFIG = "/etc/mpiboot/config.yaml"
CONFIG_VARIABLE = "MPIBOOT_CONFIG"
# Not settings: the entry script's parcel for variables that would break the agent's interpreter.
PARCEL = "MPIBOOT_JOB_"

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_YES = ("1", "yes", "true", "on")
_NO = ("0", "no", "false", "off")


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Settings with the origin of each value, by field name."""

    settings: Settings
    origins: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """The text of the YAML file and the name to quote in messages."""

    name: str
    text: str


class _Parser(argparse.ArgumentParser):
    """A parser that raises our usage error where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see {self.prog} --help")


def parser(prog: str, role: str, description: str) -> argparse.ArgumentParser:
    """Build the parser of one command from the declarations; values stay raw text."""
    made = _Parser(
        prog=prog, description=description, allow_abbrev=False, argument_default=argparse.SUPPRESS
    )
    made.add_argument(
        "--config", metavar="FILE", help=f"settings as YAML (default {DEFAULT_CONFIG})"
    )
    for spec in specs(role):
        text = spec.help.replace("%", "%%")
        flags = [*spec.short, spec.flag]
        common: dict[str, Any] = {"dest": spec.name, "metavar": spec.metavar or None}
        note = f"{text} ({spec.variable}; default {spec.shown_default})"
        match spec.kind:
            case "flag":
                made.add_argument(
                    *flags, dest=spec.name, action=argparse.BooleanOptionalAction, help=note
                )
            case "words":
                made.add_argument(*flags, action="append", help=note, **common)
            case "pairs":
                common["metavar"] = tuple(spec.metavar.split())
                made.add_argument(*flags, action="append", nargs=2, help=note, **common)
            case _:
                made.add_argument(*flags, help=note, **common)
    return made


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split at the first `--`: our options before it, the job's command after it."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def parse_flags(
    made: argparse.ArgumentParser, argv: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Read flags as raw values; return them and the problems found."""
    try:
        known, rest = made.parse_known_args(list(argv))
    except UsageError as fault:
        return {}, [str(fault)]
    unknown = [word for word in rest if word.startswith("-")]
    names = [flag for action in made._actions for flag in action.option_strings]  # noqa: SLF001
    problems = [f"unknown option {word}{nearest(word.split('=')[0], names)}" for word in unknown]
    if rest and not unknown:
        problems.append(f"unexpected word {rest[0]!r}: the job's command goes after --")
    return vars(known), problems


def resolve(
    flags: Mapping[str, Any], env: Mapping[str, str], file: ConfigFile | None, problems: list[str]
) -> Resolved:
    """Merge the sources: flag > variable > file > default.

    Args:
        flags: raw values by field name, from `parse_flags`.
        env: the process environment.
        file: the YAML text, when there is a file.
        problems: problems of the command line found so far.

    Raises:
        ProblemsError: anything is unknown or out of range; 64 when the command line has a part
            in it, else 78.
    """
    usage = len(problems)
    all_problems = list(problems)
    raw: dict[str, tuple[object, str]] = {}
    if file is not None:
        all_problems += _from_file(file, raw)
    all_problems += _from_env(env, raw)
    for spec in specs():
        if spec.name in flags:
            raw[spec.name] = (flags[spec.name], f"flag {spec.flag}")
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for spec in specs():
        origins[spec.name] = "default"
        if spec.name not in raw:
            continue
        value, origin = raw[spec.name]
        origins[spec.name] = origin
        try:
            values[spec.name] = convert(spec, value)
        except ValueError as fault:
            shown = "***" if spec.kind == "secret" else repr(value)
            all_problems.append(f"{origin}: {shown} is not valid: expected {fault}")
            usage += origin.startswith("flag")
    if all_problems:
        raise ProblemsError(all_problems, code=ExitCode.USAGE if usage else ExitCode.CONFIG)
    return Resolved(settings=Settings(**values), origins=origins)  # type: ignore[arg-type]


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
        case "text" | "secret" | "path":
            return _text(spec, value)


def _from_env(env: Mapping[str, str], raw: dict[str, tuple[object, str]]) -> list[str]:
    by_variable = {spec.variable: spec for spec in specs()}
    problems = []
    for name, value in env.items():
        if not name.startswith("MPIBOOT_") or name == CONFIG_VARIABLE or name.startswith(PARCEL):
            continue
        spec = by_variable.get(name)
        if spec is None:
            problems.append(f"environment: unknown variable {name}{nearest(name, by_variable)}")
        elif value != "" or spec.kind in ("words", "pairs"):
            raw[spec.name] = (value, f"environment {name}")
    return problems


def _from_file(file: ConfigFile, raw: dict[str, tuple[object, str]]) -> list[str]:
    import yaml  # noqa: PLC0415 - most starts have no file, and a worker must not hold it

    try:
        loaded = yaml.safe_load(file.text)
    except (yaml.YAMLError, RecursionError, ValueError) as fault:
        reason = " ".join(str(fault).split())
        return [f"{file.name}: not YAML: {reason}"]
    if loaded is None:
        return []
    if not isinstance(loaded, dict):
        return [f"{file.name}: expected a mapping of settings, found {type(loaded).__name__}"]
    by_key = {spec.key: spec for spec in specs()}
    problems = []
    for key, value in loaded.items():
        spec = by_key.get(str(key).replace("-", "_"))
        if spec is None:
            problems.append(f"{file.name}: unknown key {key}{nearest(str(key), by_key)}")
        elif value is not None:
            raw[spec.name] = (value, f"{file.name} {key}")
    return problems


def nearest(name: str, valid: Sequence[str] | Mapping[str, object]) -> str:
    """Name the valid name that was probably meant, as a remark; empty when none is near."""
    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return f" (nearest valid: {close[0]})" if close else ""


def _text(spec: Spec, value: object) -> str:
    if isinstance(value, bool | dict | list):
        raise ValueError("a text")  # noqa: TRY004 - one kind of fault for the caller
    text = str(value)
    if "\0" in text:
        raise ValueError("a text without NUL bytes")
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
    except ValueError:
        raise ValueError(expected) from None


def _duration(value: object) -> float:
    if isinstance(value, str):
        text = value.strip()
        for unit in ("ms", "s", "m", "h", "d"):
            if text.endswith(unit) and text[: -len(unit)].replace(".", "", 1).isdigit():
                return float(text[: -len(unit)]) * _UNITS[unit]
    try:
        return _number(value, whole=False)
    except ValueError:
        raise ValueError("seconds, or a number with ms, s, m, h or d") from None


def _within(spec: Spec, number: float) -> float:
    low = float("-inf") if spec.least is None else spec.least
    high = float("inf") if spec.most is None else spec.most
    if not low <= number <= high:
        raise ValueError(f"{low:g} to {high:g}")
    return number


def _slots(value: object) -> str:
    text = str(value).lower()
    if text == "auto" or (text.isascii() and text.isdigit() and 1 <= int(text[:8]) <= 100_000):
        return text
    raise ValueError("a number from 1 to 100000, or auto")


def _words(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(word) for word in value]
    if isinstance(value, dict):
        return [f"{key}={item}" for key, item in value.items()]
    if isinstance(value, bool):
        raise ValueError("a list of words")  # noqa: TRY004 - as above
    try:
        return shlex.split(str(value))
    except ValueError as fault:
        raise ValueError(f"words as a shell would split them ({fault})") from None


def _pairs(value: object) -> list[str]:
    pairs = []
    for item in value if isinstance(value, list) else _words(value):
        pair = "=".join(map(str, item)) if isinstance(item, list | tuple) else str(item)
        if "=" not in pair or pair.startswith("="):
            raise ValueError("KEY=VALUE words")
        pairs.append(pair)
    return pairs


def markdown() -> str:
    """Render the table of all settings for the documentation."""
    lines = [
        "| setting | flag | variable | default | for | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for spec in specs():
        flags = ", ".join(f"`{flag}`" for flag in (*spec.short, spec.flag))
        cells = (
            f"`{spec.key}`",
            flags,
            f"`{spec.variable}`",
            f"`{spec.shown_default}`",
            ", ".join(spec.roles),
            spec.help.replace("|", "or"),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
