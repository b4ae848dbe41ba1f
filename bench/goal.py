"""What a goal is: something to measure, its baseline in the same round, and its aims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.pods import Bench

OURS, THEIRS, RATIO, DIFFERENCE = "mpiboot", "baseline", "ratio", "difference"
Figures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What the median of one figure should be at most.

    Attributes:
        most: the bound, in the figure's unit.
        figure: which figure; the ratio and the difference are made round by round.
    """

    most: float
    figure: str = OURS

    def __str__(self) -> str:
        return f"{self.figure} ≤ {self.most:g}"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One thing to measure.

    Attributes:
        what: the figure OURS of a round.
        run: makes one round.
        beside: the figure THEIRS, measured in the same round; empty where there is no baseline.
        aims: what the figures should be.
        unit: of the figures; empty where each has its own in its name.
        apart: whether it runs only when it is asked for, and without a warm-up: it takes long.
    """

    what: str
    run: Callable[[Bench], Figures]
    beside: str = ""
    aims: tuple[Aim, ...] = ()
    unit: str = "s"
    apart: bool = False
