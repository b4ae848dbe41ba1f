"""When each stage began: for the status file (wall clock) and the metrics (monotonic)."""

from __future__ import annotations

import time

from mpiboot.model.outcome import Stage
from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Step:
    """The beginning of a stage: on the monotonic clock, since 1970, and in words."""

    stage: Stage
    at_s: float
    unix_s: float
    wall: str


class Timeline:
    """The stages of one run, in order."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.enter(Stage.STARTING)

    @property
    def stage(self) -> Stage:
        """The stage of now."""
        return self.steps[-1].stage

    def enter(self, stage: Stage) -> None:
        """Begin a stage."""
        if not self.steps or self.steps[-1].stage is not stage:
            now_ns = time.time_ns()
            self.steps.append(
                Step(stage=stage, at_s=time.monotonic(), unix_s=now_ns / 1e9, wall=_wall(now_ns))
            )

    def seconds(self) -> dict[Stage, float]:
        """Return how long each stage has lasted so far, in seconds."""
        ends = [step.at_s for step in self.steps[1:]] + [time.monotonic()]
        lasted: dict[Stage, float] = {}
        for step, end in zip(self.steps, ends, strict=True):
            lasted[step.stage] = lasted.get(step.stage, 0.0) + end - step.at_s
        return lasted

    def of(self, stage: Stage) -> float:
        """Return how long one stage has lasted, 0 when it never came."""
        return self.seconds().get(stage, 0.0)


def wall_clock() -> str:
    """Return the time of now, RFC 3339 in UTC to the millisecond."""
    return _wall(time.time_ns())


def _wall(now_ns: int) -> str:
    seconds, milliseconds = divmod(now_ns // 1_000_000, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"
