"""Secrets that stand in our own command line and environment: nobody else shall read them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model import redacted
from mpiboot.plan import rankenv


def hide(argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Hide what is secret: ours, and the job's by its names.

    The job's own variables reach the job all the same: it gets them from `env`, not from /proc.
    """
    shown = redacted.words(argv)
    names = {*redacted.variables(env), *filter(rankenv.is_secret, env)}
    if names or shown != list(argv):
        from mpiboot.runtime import veil  # noqa: PLC0415 - imports follow need: start-up time counts

        veil.draw(argv, shown, names)
