"""Settings as they may be shown: logs, records and `mpiboot config` hold no secrets."""

from __future__ import annotations

from mpiboot.model.spec import Spec

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


def _variable(word: str) -> str:
    """Keep the name of NAME=VALUE: variables of a job may be tokens."""
    name, found, _ = word.partition("=")
    return f"{name}={HIDDEN}" if found else word
