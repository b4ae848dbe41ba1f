"""Command line, environment and file → settings, and where each value came from.

All problems are told at once; each names what is wrong, where it stands and the nearest valid name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mpiboot.errors import ExitCode, ProblemsError
from mpiboot.model import fields, shims
from mpiboot.model.record import dataclass, replace
from mpiboot.model.redacted import HIDDEN
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import PRIVATE
from mpiboot.model.values import convert

DEFAULT_CONFIG = "/etc/mpiboot/config.yaml"
CONFIG_VARIABLE = "MPIBOOT_CONFIG"
# Not settings: the entry script's parcel for variables that would break the agent's interpreter.
PARCEL = "MPIBOOT_JOB_"
_NO_SETTINGS = (CONFIG_VARIABLE, shims.VARIABLE)
DEFAULT = "default"  # the origin of what nobody chose


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


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split at the first `--`: our options before it, the job's command after it."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def resolve(
    flags: Mapping[str, Any], env: Mapping[str, str], file: ConfigFile | None, problems: list[str]
) -> Resolved:
    """Merge the sources: flag > variable > file > default.

    Args:
        flags: raw values by field name, from `flags.parse`.
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
        origins[spec.name] = DEFAULT
        if spec.name not in raw:
            continue
        value, origin = raw[spec.name]
        origins[spec.name] = origin
        try:
            values[spec.name] = convert(spec, value)
        except ValueError as fault:
            shown = HIDDEN if spec.kind in PRIVATE else fields.shown(value)
            all_problems.append(f"{origin}: {shown} is not valid: expected {fault}")
            usage += origin.startswith("flag")
    if all_problems:
        raise ProblemsError(all_problems, code=ExitCode.USAGE if usage else ExitCode.CONFIG)
    return Resolved(settings=Settings(**values), origins=origins)  # type: ignore[arg-type]


def fit(resolved: Resolved, usual: Mapping[str, tuple[object, str]]) -> Resolved:
    """Give settings of which nobody said anything what is usual at this place.

    Args:
        resolved: what was chosen.
        usual: value and reason by field name.
    """
    unsaid = {name: told for name, told in usual.items() if resolved.origins[name] == DEFAULT}
    values = {name: value for name, (value, _) in unsaid.items()}
    whys = {name: why for name, (_, why) in unsaid.items()}
    return Resolved(
        settings=replace(resolved.settings, **values),  # type: ignore[arg-type]
        origins={**resolved.origins, **whys},
    )


def is_service_link(name: str, value: str) -> bool:
    """Tell whether Kubernetes has set a variable, for a Service whose name begins with `mpiboot`.

    Each container of a namespace gets some for each Service (kubernetes.io, "Environment variables" of
    Services), unless enableServiceLinks is false; nobody has chosen them.
    """
    host_or_port = re.fullmatch(r"MPIBOOT_(\w+_)?SERVICE_(HOST|PORT(_\w+)?)", name)
    told = re.fullmatch(r"(tcp|udp|sctp)://\S+", value)
    of_port = re.fullmatch(r"MPIBOOT_(\w+_)?PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)", name)
    return bool(host_or_port or told or of_port)


def _from_env(env: Mapping[str, str], raw: dict[str, tuple[object, str]]) -> list[str]:
    by_variable = {spec.variable: spec for spec in specs()}
    problems = []
    for name, value in env.items():
        if not name.startswith("MPIBOOT_") or name in _NO_SETTINGS or name.startswith(PARCEL):
            continue
        spec = by_variable.get(name)
        if spec is None and is_service_link(name, value):
            continue
        if spec is None:
            shown = fields.quoted(name)
            problems.append(f"environment: unknown variable {shown}{nearest(shown, by_variable)}")
        elif value != "" or spec.kind in ("words", "pairs"):
            raw[spec.name] = (value, f"environment {name}")
    return problems


def _from_file(file: ConfigFile, raw: dict[str, tuple[object, str]]) -> list[str]:
    from mpiboot.model import yamlfile  # noqa: PLC0415 - most starts have no file

    try:
        loaded = yamlfile.load(file.text)
    except ValueError as fault:
        return [f"{file.name}: {fault}"]
    by_key = {spec.key: spec for spec in specs()}
    problems = []
    for key, value in loaded.items():
        name = fields.quoted(yamlfile.key(key))
        spec = by_key.get(name.replace("-", "_"))
        if spec is None:
            problems.append(f"{file.name}: unknown key {name}{nearest(name, by_key)}")
        elif value is not None:
            raw[spec.name] = (value, f"{file.name} {name}")
    return problems


def nearest(name: str, valid: Sequence[str] | Mapping[str, object]) -> str:
    """Name the valid name that was probably meant, as a remark; empty when none is near."""
    import difflib  # noqa: PLC0415 - only a mistake needs it

    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return f" (nearest valid: {close[0]})" if close else ""


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
