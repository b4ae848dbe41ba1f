"""This container is recognised among the hosts, and no other is taken for it."""

from __future__ import annotations

import pytest

from mpiboot.model.facts import Facts
from mpiboot.plan.identity import Nearness, Own, by_address, by_name

OWN = Own(hostname="job-launcher", addresses=("10.0.0.5", "fd00::5"), facts=Facts())


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("job-launcher", Nearness.HERE),
        ("JOB-Launcher", Nearness.HERE),
        ("localhost", Nearness.HERE),
        ("127.0.0.1", Nearness.HERE),
        ("10.0.0.5", Nearness.HERE),
        ("fd00::5", Nearness.HERE),
        ("job-launcher.job.ns.svc", Nearness.LIKELY),
        ("job-launcher.job.ns.svc.cluster.local", Nearness.LIKELY),
        ("job-launcher.job-worker", Nearness.LIKELY),
        ("job-worker-0.job.ns.svc", Nearness.ELSEWHERE),
        ("10.0.0.6", Nearness.ELSEWHERE),
        ("job", Nearness.ELSEWHERE),
    ],
)
def test_what_a_name_tells(name: str, near: Nearness) -> None:
    """Its own names and addresses are here at once; a full name is here unless its address differs."""
    assert by_name(name, OWN) is near


def test_a_full_hostname_of_ones_own() -> None:
    """A container whose hostname is a full name is also meant by its first label."""
    own = Own(hostname="n1.cluster", addresses=(), facts=Facts())
    assert by_name("n1.cluster", own) is Nearness.HERE
    assert by_name("n1", own) is Nearness.LIKELY


def test_an_address_decides() -> None:
    """One of the host's addresses must be ours."""
    assert by_address(["192.0.2.1", "10.0.0.5"], OWN)
    assert not by_address(["192.0.2.1"], OWN)
