"""Benchmarks: the peers' waits keep the schedules of their sources, on a clock that is not real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from bench.peers import PEERS, GaveUp


@dataclass
class Imagined:
    """Hosts with a name and an sshd from given seconds on; what is asked takes no time but `cost`."""

    named: dict[str, float]
    up: dict[str, float]
    cost: float = 0.0
    clock: float = 0.0
    asked: list[str] = field(default_factory=list)

    def now(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def resolves(self, host: str) -> bool:
        return self._ask("name", self.named, host)

    def nslookup(self, host: str) -> bool:
        return self._ask("nslookup", self.named, host)

    def banner(self, host: str, timeout_s: float) -> bool:
        return self._ask(f"banner {timeout_s:g}", self.up, host)

    def login(self, host: str) -> bool:
        return self._ask("login", self.up, host)

    def ssh(self, host: str, timeout_s: float = 0) -> bool:
        return self._ask(f"ssh {timeout_s:g}", self.up, host)

    def at_once(self, one: Callable[[str], bool], hosts: Sequence[str]) -> list[bool]:
        begun, ends, found = self.clock, [self.clock], []
        for host in hosts:
            self.clock = begun
            found.append(one(host))
            ends.append(self.clock)
        self.clock = max(ends)
        return found

    def _ask(self, what: str, since: dict[str, float], host: str) -> bool:
        self.asked.append(f"{what} {host}")
        self.clock += self.cost
        return self.clock >= since[host]


def world(named: float = 0.0, up: float = 0.0, cost: float = 0.0) -> Imagined:
    """The second of two hosts comes late."""
    return Imagined({"a": 0.0, "b": named}, {"a": 0.0, "b": up}, cost)


@pytest.mark.parametrize(
    ("peer", "named", "up", "goes_at"),
    [
        (
            "operator-entrypoint",
            5.0,
            60.0,
            6.3,
        ),  # lookups at 0, 0.1, 0.3, …, 3.1, 6.3 s; never at sshd
        ("operator-entrypoint", 1e9, 0.0, 102.3),  # and on, as if all were well
        ("operator-backoff", 0.0, 5.0, 5.0),  # within ssh's ten attempts
        ("operator-backoff", 0.0, 9.5, 10.0),  # the pod's second start
        ("operator-backoff", 11.0, 11.0, 30.0),  # no name: fails at once, and waits for the third
        ("kubeflow-openmpi", 0.0, 0.5, 10.0),
        ("sagemaker-toolkit", 1.0, 1.0, 1.5),  # 0.1, 0.3, 0.7, 1.5
        ("sagemaker-toolkit", 0.0, 2.5, 3.0),
        ("sagemaker-sdk3", 0.0, 0.5, 5.0),
        ("determined", 0.0, 0.55, 0.6),
        ("until-ssh", 0.0, 3.5, 6.0),
        ("sequential-paramiko", 0.0, 0.5, 1.0),
        ("parallel-ssh", 0.0, 1.5, 2.0),
        ("horovodrun", 0.0, 0.0, 0.0),
    ],
)
def test_when_a_peer_goes(peer: str, named: float, up: float, goes_at: float) -> None:
    """The last host is noticed when the peer's pauses let it be."""
    around = world(named, up)
    PEERS[peer](["a", "b"], around)
    assert around.clock == pytest.approx(goes_at)


@pytest.mark.parametrize(
    ("peer", "gives_up_at"),
    [
        ("operator-backoff", 319.0),  # ten attempts of the start at 310 s
        ("kubeflow-openmpi", 300.0),
        ("sagemaker-toolkit", 3601.0),
        ("sagemaker-sdk3", 305.0),
        ("horovodrun", 0.0),  # five tries without a pause
    ],
)
def test_when_a_peer_gives_up(peer: str, gives_up_at: float) -> None:
    """A host that never comes ends the wait where it has an end."""
    around = world(up=1e9)
    with pytest.raises(GaveUp):
        PEERS[peer](["a", "b"], around)
    assert around.clock == pytest.approx(gives_up_at)


def test_determined_shares_its_deadline() -> None:
    """Twenty seconds are for all hosts together."""
    around = world(up=1e9)
    with pytest.raises(GaveUp, match="b"):
        PEERS["determined"](["a", "b"], around)
    assert around.clock == pytest.approx(20, abs=0.3)


def test_who_waits_host_by_host() -> None:
    """Sequential waits pay for each host, parallel ones for the slowest."""
    took = {}
    for peer in ("determined", "sequential-paramiko", "until-ssh", "parallel-ssh", "horovodrun"):
        around = world(cost=0.5)
        PEERS[peer](["a", "b"], around)
        took[peer] = around.clock
    assert took == {
        "determined": 1.0, "sequential-paramiko": 1.0, "until-ssh": 1.0,
        "parallel-ssh": 0.5, "horovodrun": 0.5,
    }  # fmt: skip


def test_a_sweep_begins_with_the_first_host_again() -> None:
    """SDK v3 asks those that were ready once more."""
    around = world(up=0.5)
    PEERS["sagemaker-sdk3"](["a", "b"], around)
    assert around.asked == ["login a", "login b", "login a", "login b"]


def test_horovodrun_tries_five_times() -> None:
    """Its five tries have a connect timeout of 10 s each."""
    around = world(up=1e9)
    with pytest.raises(GaveUp):
        PEERS["horovodrun"](["b"], around)
    assert around.asked == ["ssh 10 b"] * 5
