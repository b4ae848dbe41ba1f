"""A worker that means harm, behind a real sshd and with the job's keys: it harms its own part at most."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mpiboot.link import messages
from tests.helpers.agents import Agent, Agents, program
from tests.helpers.keyfiles import make_key, make_key_directory
from tests.helpers.plainsshd import known_hosts, plain_sshd

RING = program("ring.py")
ENDLESS = program("endless_ring.py")
HOSTILE = Path(__file__).with_name("programs") / "hostile.py"
RANK = Path(messages.__file__).with_name("rank.py")
QUICK = ("--heartbeat", "0.5", "--lease-timeout", "5")
MOST_MB = 400  # of the launcher; a flood that is kept is gigabytes


class Rig:
    """A worker that is none, w2, beside a true one, w1.

    Args:
        agents: where they are made.
        directory: where their files go.
    """

    def __init__(self, agents: Agents, directory: Path) -> None:
        self._agents = agents
        self._directory = directory
        self._keys = make_key_directory(directory / "keys")
        self._host = make_key(directory / "host")
        self.env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(self._keys)}

    def start(
        self, mode: str, *job: str, options: tuple[str, ...] = ()
    ) -> tuple[Agent, Agent, Agent]:
        """Start all three; return hostile worker, true worker and launcher."""
        bridge = f"{sys.executable} -I -S {HOSTILE} {mode} {sys.executable} {RANK}"
        hostile = plain_sshd(
            self._agents, "w2", host_key=self._host, authorized=[self._keys / "id_ed25519"],
            directory=self._directory, words=[f"Subsystem mpiboot {bridge}"],
        )  # fmt: skip
        worker = self._agents.worker("w1", *QUICK, "--retry-grace", "1", env=self.env)
        given = known_hosts(self._directory, {"w2": self._host})
        launcher = self._agents.launcher(
            *job, hosts="w1:1,w2:1", env=self.env,
            options=(*QUICK, "--known-hosts", str(given), *options),
        )  # fmt: skip
        return hostile, worker, launcher


@pytest.fixture
def rig(agents: Agents, tmp_path: Path) -> Rig:
    return Rig(agents, tmp_path)


@pytest.mark.parametrize("mode", ["forge", "ticket"])
def test_a_worker_does_not_speak_for_the_ranks_of_another(
    rig: Rig, agents: Agents, mode: str
) -> None:
    """What it says of their ends, their stacks, another's memory or its own slots changes nothing."""
    hostile, worker, launcher = rig.start(mode, *RING)
    assert launcher.wait(60) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]
    assert launcher.log.count("w2 reports ranks of other hosts: it is not believed") == 1
    assert "forged" not in launcher.log
    assert worker.wait(30) == 0
    agents.assert_global(stay=[hostile])


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("garbage", "w2 was lost: the worker talks nonsense"),
        ("flood", "w2 was lost: it floods the launcher"),
        ("million", "w2 was lost: it floods the launcher"),
        ("signal", "w2 was told to stop (signal 40)"),
    ],
)
def test_a_worker_that_floods_or_talks_nonsense_is_lost(
    rig: Rig, agents: Agents, mode: str, why: str
) -> None:
    """It is cut off and named, like any other that is lost: 241, soon, and the launcher stays small."""
    hostile, worker, launcher = rig.start(mode, *ENDLESS)
    peak = 0
    while launcher.pod.poll() is None and why not in launcher.log:
        peak = max(peak, peak_mb(launcher))
    assert launcher.wait(45) == 241, launcher.log
    assert why in launcher.log
    assert peak < MOST_MB
    assert worker.wait(30) in (0, 245)
    agents.assert_global(stay=[hostile])


@pytest.mark.parametrize("mode", ["no-facts", "huge-facts"])
def test_a_greeting_without_an_end_is_a_broken_login(rig: Rig, agents: Agents, mode: str) -> None:
    """A worker that never tells its facts is not waited for beyond the wait's own bound: 240."""
    hostile, _, launcher = rig.start(mode, "hostname", options=("--wait-timeout", "6"))
    assert launcher.wait(45) == 240, launcher.log
    assert "the worker's agent does not answer" in launcher.log
    assert peak_mb(launcher) < MOST_MB
    agents.assert_global(stay=[hostile])


def peak_mb(agent: Agent) -> int:
    """Return the most memory that an agent has had, 0 when it has ended."""
    try:
        text = (agent.pod.root / "proc" / "1" / "status").read_text()
    except OSError:
        return 0
    fields = dict(line.partition(":")[::2] for line in text.splitlines())
    return int(fields.get("VmHWM", "0 kB").split()[0]) // 1024
