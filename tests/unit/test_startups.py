"""Logins under way are bounded by what the container bears, and never below what the job needs."""

from __future__ import annotations

import pytest

from mpiboot.plan.startups import Startups, fitted


@pytest.mark.parametrize(
    ("peers", "nofile", "pids", "got"),
    [
        (0, -1, None, Startups(begin=1000, full=2000, per_source=256)),
        (0, 1_048_576, 100_000, Startups(begin=1000, full=2000, per_source=256)),
        # 500 half-open logins from one address are cut at 256, and from many are below what is bounded.
        (0, 8192, None, Startups(begin=1000, full=2000, per_source=256)),
        # Two processes for each login: half of the limit is left to the job.
        (0, -1, 512, Startups(begin=64, full=128, per_source=64)),
        (0, 1024, None, Startups(begin=128, full=256, per_source=128)),
        # A thousand nodes that announce themselves through one NAT.
        (1000, -1, None, Startups(begin=2000, full=4000, per_source=2000)),
        (0, 10, 10, Startups(begin=10, full=20, per_source=10)),
    ],
)
def test_fitted(peers: int, nofile: int, pids: int | None, got: Startups) -> None:
    """The stock 10:30:100 drops a third of 50 logins; 2000 would fill a container of 512 processes."""
    assert fitted(peers=peers, nofile=nofile, pids=pids) == got
