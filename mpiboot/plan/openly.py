"""A plan as others than its owner may see it: without values that may be secrets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from mpiboot.model.record import replace
from mpiboot.model.redacted import HIDDEN
from mpiboot.plan import passenv
from mpiboot.plan.launchplan import LaunchPlan, Step

_ASSIGNED = re.compile(r"(-x=?|--?\w[\w-]*=)?([A-Za-z_]\w*)=(.+)", re.DOTALL)
_BEFORE_NAME = frozenset(("-genv", "-env"))  # Hydra: a name and its value are words of their own


def words(argv: Sequence[str]) -> list[str]:
    """Return a command line in which values of variables with secret names are hidden."""
    shown: list[str] = []
    for number, word in enumerate(argv):
        name = argv[number - 1] if number >= 2 and argv[number - 2] in _BEFORE_NAME else ""
        if name and passenv.is_secret(name):
            shown.append(HIDDEN)
            continue
        found = _ASSIGNED.fullmatch(word)
        if found is not None and passenv.is_secret(found[2]):
            shown.append(f"{found[1] or ''}{found[2]}={HIDDEN}")
            continue
        shown.append(word)
    return shown


def steps(plan: LaunchPlan) -> list[Step]:
    """List the steps of a plan with their reasons; what private files hold is left out."""
    made = [replace(step, lines=()) for step in plan.steps()]
    calls = [
        Step(kind="exec", text=shlex.join(words(group.words)), reason=group.reason)
        for group in plan.words
    ]
    return [*(step for step in made if step.kind != "exec"), *calls]
