"""The metrics that both roles have: stage, phase, conditions, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpiboot import __version__
from mpiboot.model.outcome import Fault, Outcome, Phase, Stage, first_rank
from mpiboot.model.standing import Condition, Truth
from mpiboot.report import catalogue
from mpiboot.report.metrics import Family
from mpiboot.report.timeline import Timeline


def common(
    role: str,
    timeline: Timeline,
    phase: Phase,
    conditions: Sequence[Condition],
    outcome: Outcome | None,
) -> Iterator[Family]:
    """Yield what is known of any agent.

    Args:
        role: of the agent.
        timeline: its stages.
        phase: how it stands.
        conditions: as in the status file.
        outcome: how it ended; None before.
    """
    yield catalogue.INFO.each([((__version__, role), 1)])
    yield catalogue.STAGE.state(timeline.stage.value, [stage.value for stage in Stage])
    yield catalogue.STAGE_SECONDS.by(
        {stage.value: seconds for stage, seconds in timeline.seconds().items()}
    )
    yield catalogue.PHASE.state(phase.value, [one.value for one in Phase])
    yield catalogue.CONDITION.each(
        ((one.kind.value, truth.value), float(one.truth is truth))
        for one in conditions
        for truth in Truth
    )
    if outcome is not None:
        yield from _end(outcome)
        yield catalogue.END_TIME.one(timeline.steps[-1].unix_s)


def _end(outcome: Outcome) -> Iterator[Family]:
    yield catalogue.EXIT_CODE.one(outcome.code)
    yield catalogue.FAULT.state(outcome.fault.value, [fault.value for fault in Fault])
    rank = first_rank(outcome.failures)
    if rank is not None:
        code, signal = ("" if one is None else str(one) for one in (rank.code, rank.signal))
        yield catalogue.FIRST_FAILURE.each([((str(rank.rank), rank.host, code, signal), 1)])
