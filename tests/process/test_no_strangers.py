"""The agent speaks to the job's hosts and to nobody else: every connection that it asks the kernel for."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

import pytest

from tests.helpers.agents import MPIBOOT, Agents, program

RING = program("ring.py")
_ADDRESS = re.compile(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
LONG_S = 60.0


def watched(record: Path) -> tuple[str, ...]:
    """Call mpiboot so that all calls which send something are recorded, of all that it starts, too."""
    return ("strace", "-f", "-qq", "--seccomp-bpf", "-e", _CALLS, "-o", str(record), *MPIBOOT)


def addressed(record: Path) -> set[str]:
    """Read whom a program meant to reach; those of its own host are nobody."""
    found = {ipaddress.ip_address(one) for one in _ADDRESS.findall(record.read_text())}
    others = [one for one in found if not one.is_loopback and not one.is_unspecified]
    return {str(getattr(one, "ipv4_mapped", None) or one) for one in others}


def test_job_reaches_its_hosts_alone(agents: Agents, tmp_path: Path) -> None:
    """Workers and a launcher connect to each other, and to no other address."""
    records = [tmp_path / f"calls-{name}" for name in ("w1", "w2", "launcher")]
    workers = [
        agents.worker(name, agent=watched(record))
        for name, record in zip(("w1", "w2"), records, strict=False)
    ]
    launcher = agents.launcher(*RING, agent=watched(records[2]))

    assert launcher.wait(LONG_S) == 0
    agents.assert_global()
    own = {agent.pod.address for agent in (*workers, launcher)}
    reached = [addressed(record) for record in records]
    assert {agent.pod.address for agent in workers} <= reached[2]
    assert set().union(*reached) <= own


@pytest.mark.parametrize(
    "words",
    [
        ["version", "--json"],
        ["config"],
        ["keygen"],
        ["doctor", "--role", "worker"],
        ["plan", "--hosts", "w1:1", "--", "true"],
        ["probe"],
    ],
    ids=lambda words: words[0],
)
def test_command_reaches_nobody(agents: Agents, tmp_path: Path, words: list[str]) -> None:
    """What only looks or prints asks for no connection, neither for updates nor to tell of its use."""
    record = tmp_path / "calls"
    agent = agents.mpiboot("w1", words, agent=watched(record))
    agent.wait()

    assert "Traceback" not in agent.log
    assert addressed(record) == set()
