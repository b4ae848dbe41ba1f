"""A worker's start: from its spawn until a login is proven, and from there to a bare sshd's banner."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping

from bench.goal import DIFFERENCE, OURS, THEIRS, Aim, Figures, Goal
from bench.moments import until_banner, until_ready
from bench.pods import Bench, end, wall


def init() -> tuple[str, ...]:
    """Return tini, which the usual images run sshd below; nothing where it is not installed."""
    found = shutil.which("tini")
    return (found, "--") if found else ()


def ready(box: Bench) -> Figures:
    """Time pod start → worker ready, and pod start → the banner of sshd below tini."""
    steps: dict[str, float] = {}

    def ours() -> float:
        at, begun = wall(), time.monotonic()
        pod = box.agent(box.name("a"), "worker")
        took = until_ready(pod) - begun
        steps["  … keys made"] = box.until_said(pod, "keys from") - at
        steps["  … sshd listens"] = box.until_said(pod, "Server listening") - at
        steps["  … login proven"] = box.until_said(pod, "ready on port") - at
        end([pod])
        return took

    def theirs() -> float:
        begun = time.monotonic()
        pod = box.plain_sshd(box.name("b"), *init())
        took = until_banner(pod) - begun
        end([pod])
        return took

    one, other = box.pair(ours, theirs)
    return {OURS: one, THEIRS: other, **steps}


GOALS: Mapping[str, Goal] = {
    "ready": Goal(
        what="pod start → worker ready, a login proven",
        beside="pod start → banner of `tini -- sshd -D`",
        aims=(Aim(figure=DIFFERENCE, most=0.06),),
        run=ready,
    ),
}
