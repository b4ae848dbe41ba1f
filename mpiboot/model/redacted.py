"""Settings as they may be shown: logs, records and `mpiboot config` hold no secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.settings import specs
from mpiboot.model.spec import PRIVATE, Spec

HIDDEN = "***"


def shown(spec: Spec, value: object) -> str:
    """Return a setting's value as people write it, without what only its owner shall know."""
    if not value:
        return spec.show(value)
    if spec.kind == "secret":
        return HIDDEN
    if spec.kind == "url":
        return url(str(value))
    if spec.name == "export" and isinstance(value, tuple):
        return spec.show(tuple(_variable(word) for word in value))
    return spec.show(value)


def url(text: str) -> str:
    """Return a URL without its user and password."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    if "@" not in rest:
        return text
    return f"{scheme}{found}{HIDDEN}@{rest.rpartition('@')[2]}"


def words(argv: Sequence[str]) -> list[str]:
    """Return a command line of ours as others may see it; the job's own command stays as it is."""
    by_flag = {
        flag: spec for spec in specs() for flag in (*spec.short, spec.flag) if _private(spec)
    }
    seen: list[str] = []
    spec, ended = None, False
    for word in argv:
        name, found, value = word.partition("=")
        ended = ended or word == "--"
        if ended:
            seen.append(word)
        elif spec is not None:
            seen.append(_mask(spec, word))
            spec = None
        elif found and name in by_flag:
            seen.append(f"{name}={_mask(by_flag[name], value)}")
        elif word[:2] in by_flag and len(word) > len("-x"):
            seen.append(word[:2] + _mask(by_flag[word[:2]], word[2:]))
        else:
            seen.append(word)
            spec = by_flag.get(word)
    return seen


def variables(env: Mapping[str, str]) -> list[str]:
    """Name the variables of ours whose values nobody else shall see."""
    ours = {spec.variable: spec for spec in specs() if _private(spec)}
    return [name for name, text in env.items() if name in ours and _mask(ours[name], text) != text]


def remark(origins: Mapping[str, str]) -> str:
    """Say that a secret was given where everybody sees it; empty where it was not."""
    if not origins.get("secret", "").startswith("flag"):
        return ""
    return (
        "the secret was given as a word of the command line, where `ps` has shown it and the pod's"
        " specification does: MPIBOOT_SECRET_FILE is safer"
    )


def _private(spec: Spec) -> bool:
    return spec.kind in PRIVATE or spec.name == "export"


def _mask(spec: Spec, text: str) -> str:
    """Hide the private part of a raw value."""
    if spec.kind == "secret":
        return HIDDEN if text else text
    return url(text) if spec.kind == "url" else " ".join(map(_variable, text.split(" ")))


def _variable(word: str) -> str:
    """Keep the name of NAME=VALUE: variables of a job may be tokens."""
    name, found, _ = word.partition("=")
    return f"{name}={HIDDEN}" if found else word
