"""A job across 64 workers, each in a pod with an sshd of its own."""

from __future__ import annotations

import re

import pytest

from tests.helpers.agents import Agents

MANY = 64
REFUSED = re.compile(
    r"drop connection|beginning MaxStartups|penalty|Connection reset|Timeout before"
)


@pytest.mark.timeout(240)
def test_sixty_four_workers(agents: Agents) -> None:
    """All ranks run, each on its host; one connection to each sshd was enough, and none was refused."""
    workers = agents.workers(MANY, env={"MPIBOOT_SSHD_LOG_LEVEL": "VERBOSE"})
    launcher = agents.launcher("hostname", options=["--wait-timeout", "120"])
    assert launcher.wait(150) == 0, launcher.log
    assert sorted(launcher.out.decode().split()) == sorted(worker.name for worker in workers)
    assert launcher.status["ranks"] == {"expected": MANY, "started": MANY, "ended": MANY}
    agents.assert_global()
    address = re.escape(launcher.pod.address)
    came = re.compile(rf"Connection from {address} port \d+")
    accepted = re.compile(rf"Accepted publickey for \S+ from {address} ")
    for worker in workers:
        assert len(came.findall(worker.log)) == 1, worker.log
        assert len(accepted.findall(worker.log)) == 1, worker.log
        assert REFUSED.search(worker.log) is None, worker.log
