"""Decide of each of the launcher's variables whether ranks get it, and say why."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mpiboot.model.record import dataclass
from mpiboot.plan.rankrules import (
    FROM_THE_CLUSTER,
    NO_SECRETS,
    OURS,
    SEARCH_PATHS,
    SECRET_NAMES,
    STAY,
    TRAVEL,
)

if TYPE_CHECKING:  # each start asks here which of its variables are secrets, and facts take 4 ms
    from mpiboot.model.facts import Facts

_LONGEST = 128 * 1024 - 1  # MAX_ARG_STRLEN, less the NUL: the kernel takes no longer NAME=VALUE
_PROTOCOLS = ("tcp://", "udp://", "sctp://")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the user, and the MPI, add to the rules.

    Attributes:
        allow: globs of names that travel; one without a wildcard lets even a secret through.
        deny: globs of names that stay.
        listed: whether names are handed over in a list with commas (hydra's -genvlist).
    """

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    listed: bool = False


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What becomes of one variable.

    Attributes:
        name: of the variable.
        passed: whether ranks get it.
        reason: why, or why not.
        value: what the user gave; None: what it is in the launcher's environment.
        wanted: whether the user asked for it by name.
    """

    name: str
    passed: bool
    reason: str
    value: str | None = None
    wanted: bool = False


def rank_environment(
    env: Mapping[str, str],
    wanted: Sequence[str] = (),
    facts: Sequence[Facts | None] = (),
    rules: Rules | None = None,
) -> list[Decision]:
    """Decide of all variables that are set or wanted, in the order of their names.

    Args:
        env: the launcher's environment.
        wanted: the user's own words, NAME or NAME=VALUE; of two for one name the last counts.
        facts: what each worker says; None for a plain sshd.
        rules: what is added to the rules.
    """
    rules = rules or Rules()
    asked = {name: (value if equals else None) for name, equals, value in map(_parted, wanted)}
    found = {name: _wanted(name, value, env, rules) for name, value in asked.items()}
    for name, value in env.items():
        if name not in found:
            found[name] = _decide(name, value, facts, rules)
    return [found[name] for name in sorted(found)]


def _parted(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def _wanted(name: str, given: str | None, env: Mapping[str, str], rules: Rules) -> Decision:
    """Follow the user, as far as it is possible at all."""
    if given is None and name not in env:
        return Decision(name=name, passed=False, reason="yours, but not set here", wanted=True)
    hindrance = _hindrance(name, env[name] if given is None else given, rules)
    reason = f"yours, but {hindrance}" if hindrance else "yours"
    return Decision(name=name, passed=not hindrance, reason=reason, value=given, wanted=True)


def _decide(name: str, value: str, facts: Sequence[Facts | None], rules: Rules) -> Decision:
    passed, reason = _judged(name, value, facts, rules)
    hindrance = _hindrance(name, value, rules) if passed else ""
    return Decision(name=name, passed=passed and not hindrance, reason=hindrance or reason)


def _judged(name: str, value: str, facts: Sequence[Facts | None], rules: Rules) -> tuple[bool, str]:
    """Go through the rules; the first that knows the name decides."""
    if matches(name, rules.deny):
        return False, "yours: --rank-env-deny"
    if name in rules.allow:
        return True, "yours: --rank-env-allow"
    if matches(name, OURS.names):
        return True, OURS.reason
    stays = _why_it_stays(name, value)
    if stays:
        return False, stays
    if matches(name, rules.allow):
        return True, "yours: --rank-env-allow"
    if name in SEARCH_PATHS:
        if differs(name, value, facts):
            return False, "a worker's sessions have their own"
        return True, "Horovod: set here"
    travels = next((rule.reason for rule in TRAVEL if matches(name, rule.names)), "")
    return bool(travels), travels or f"not known as a setting of the job: -x {name} hands it on"


def _why_it_stays(name: str, value: str) -> str:
    """Tell why a variable is this container's own; empty where it is not."""
    for rule in STAY:
        if matches(name, rule.names):
            return rule.reason
    if name.endswith("_PORT") and value.startswith(_PROTOCOLS):
        return FROM_THE_CLUSTER
    return f"its name speaks of a secret: only -x {name} hands it on" if is_secret(name) else ""


def _hindrance(name: str, value: str, rules: Rules) -> str:
    """Tell why a variable cannot be handed on at all; empty when it can."""
    if not name or "=" in name or any(ord(c) < 32 or ord(c) == 127 for c in name):
        return "no environment and no command line can hold this name"
    if rules.listed and "," in name:
        return "this MPI takes names in a list, which a comma would part"
    if "\0" in value:
        return "no environment can hold a NUL"
    size = len(f"{name}={value}".encode("utf-8", "surrogatepass"))
    if size > _LONGEST:
        return f"it has {size} bytes, and the kernel lets no variable have more than {_LONGEST}"
    return ""


def is_secret(name: str) -> bool:
    """Tell whether a name speaks of a secret."""
    upper = name.upper()
    return matches(upper, SECRET_NAMES) and not matches(upper, NO_SECRETS)


def differs(name: str, value: str, facts: Sequence[Facts | None]) -> bool:
    """Tell whether an agent serves sessions with another search path than the launcher's.

    A worker's own PATH is right for its own files; the launcher's would hide it.
    """
    own = [f.path if name == "PATH" else f.ld_library_path for f in facts if f is not None]
    return any(text and text != value for text in own)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a name fits one of some globs."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
