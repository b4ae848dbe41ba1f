"""Every goal, by its name; a module of goals has them in `GOALS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench import (
    jobs,
    leases,
    logins,
    output,
    penalties,
    pid1,
    pure,
    sessions,
    simulated,
    start,
    waiting,
)
from bench.goal import Goal

_MODULES = (
    start,
    jobs,
    waiting,
    pid1,
    logins,
    sessions,
    pure,
    output,
    leases,
    simulated,
    penalties,
)


def gather(parts: Iterable[Mapping[str, Goal]]) -> dict[str, Goal]:
    """Put goals together, in order.

    Raises:
        ValueError: two have one name.
    """
    found: dict[str, Goal] = {}
    for part in parts:
        for name, goal in part.items():
            if name in found:
                raise ValueError(f"two goals are called {name}")
            found[name] = goal
    return found


GOALS: Mapping[str, Goal] = gather(module.GOALS for module in _MODULES)


def meant(words: Iterable[str], goals: Mapping[str, Goal] = GOALS) -> list[str]:
    """Return the goals of words: `job` means all goals of that family; no word: all that are quick.

    Raises:
        ValueError: a word means nothing; names all such words.
    """
    asked = list(words)
    if not asked:
        return [name for name, goal in goals.items() if not goal.apart]
    found = {word: [n for n in goals if n == word or n.startswith(f"{word}-")] for word in asked}
    unknown = [word for word, names in found.items() if not names]
    if unknown:
        raise ValueError(f"no goal {', '.join(unknown)}")
    return list(dict.fromkeys(name for names in found.values() for name in names))
