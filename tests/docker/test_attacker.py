"""An attacker's container on the job's network gets nothing in, and the job goes on.

All attacks are bounded in time and count, on networks of the test's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_images import image
from tests.helpers.agents import PROGRAMS
from tests.helpers.eventually import eventually
from tests.helpers.mounting import mounts

pytestmark = [pytest.mark.docker, pytest.mark.timeout(170)]

# OpenSSH 9.2 and 10.0.
STACKS = ("openmpi4", "openmpi5")
PYTHON = "/opt/mpiboot/bin/python"
HTTP_PORT = "9650"
NOT_READY, LOST, LAUNCH_FAILED, FALSE_SUCCESS = 240, 241, 242, 243
SMALL = ("--memory", "400m", "--memory-swap", "400m")
NOBODY_OPENS = """
import os, socket
for path in ("/run/mpiboot/worker/agent.sock", "/run/mpiboot/worker/user_key"):
    try:
        socket.socket(socket.AF_UNIX).connect(path) if path.endswith("sock") else open(path)
        print("IN", path)
    except PermissionError:
        print("refused", path)
"""


class Scene:
    """A job's containers and those of its attackers."""

    def __init__(self, box: Box, stack: str) -> None:
        self.box, self._image = box, image(stack, "-test")
        self._options = ("-v", f"{PROGRAMS}:/programs:ro", *mounts(stack))

    def agent(self, name: str, *words: str, options: Sequence[str] = ()) -> None:
        """Start an agent that holds the job's secret."""
        self.box.start(name, *words, image=self._image, options=(*self._options, *options))

    def attacker(self, name: str, program: str, *words: str, secret: str = "") -> None:
        """Start a program that does not hold it; `secret` is what was stolen."""
        docker(
            "run", "-d", "--name", f"{self.box.run}-{name}", "--hostname", name,
            "--network", self.box.run, "--network-alias", name,
            "--label", f"mpiboot.test={self.box.run}", "-e", f"STOLEN={secret}", *self._options,
            "--entrypoint", PYTHON, self._image, f"/programs/{program}.py", *words, check=True,
        )  # fmt: skip

    def says(self, name: str, text: str, timeout: float = 40) -> None:
        """Wait until a container has said something."""

        def check() -> None:
            log = self.box.logs(name)
            assert text in log, log

        eventually(check, timeout=timeout, interval=0.2)

    def assert_nothing_got_in(self, *attackers: str, agents: Sequence[str]) -> None:
        """No attacker was let in, no container of the job has its canary, no agent stumbled."""
        for name in attackers:
            assert not re.search(r"^IN ", self.box.logs(name), re.MULTILINE), self.box.logs(name)
        for name in agents:
            assert "canary" not in docker("diff", f"{self.box.run}-{name}", check=True).stdout
            assert "Traceback" not in self.box.logs(name), self.box.logs(name)


@pytest.fixture(params=STACKS)
def scene(request: pytest.FixtureRequest, box: Box) -> Scene:
    """A network for one stack."""
    return Scene(box, request.param)


def test_a_job_goes_on_while_it_is_attacked(scene: Scene) -> None:
    """500 half-open connections, wrong keys, all users, slow and huge HTTP: 0, and nothing got in."""
    box = scene.box
    scene.agent("w1", "worker")
    scene.says("w1", "ready on port")
    scene.attacker("crowd", "attacker", "hold", "w1", "22", "500", "60")
    scene.says("crowd", "holding")
    job = ("python3", "-u", "/programs/under_fault.py", "wait")
    scene.agent("launcher", "launcher", "--hosts", "w1:1,w2:1", "--", *job)
    scene.says("w1", "launcher launcher is here")  # it came in beside the crowd, and waits for w2
    scene.attacker("burglar", "attacker", "keys", "w1", "22")
    scene.agent("w2", "worker")
    scene.says("launcher", "rank 1 is up", 60)
    for name, role in (("vandal", "w2"), ("vandal2", "launcher")):
        scene.attacker(name, "attacker", "http", role, HTTP_PORT)
    opened = docker("exec", "-u", "65534", f"{box.run}-w1", PYTHON, "-c", NOBODY_OPENS, check=True)
    assert re.findall(r"^(\w+)", opened.stdout, re.MULTILINE) == ["refused", "refused"]
    scene.says("vandal", "http done", 60)
    scene.says("vandal2", "http done", 60)
    scene.says("burglar", "tried", 60)
    assert int(re.findall(r"tried (\d+)", box.logs("burglar"))[0]) >= 28  # 4 plain names, 7 ways
    seen = box.logs("w1")
    assert re.search(r"User nobody from \S+ not allowed because not listed", seen)
    assert re.search(r"drop connection #2\d\d ", seen)  # by the bound for one source, 256
    docker("exec", f"{box.run}-w2", "touch", "/tmp/end", check=True)
    assert box.wait("launcher") == 0
    assert [box.wait(name, 30) for name in ("w1", "w2")] == [0, 0]
    scene.assert_nothing_got_in(
        "crowd", "burglar", "vandal", "vandal2", agents=("w1", "w2", "launcher")
    )


@pytest.mark.parametrize("flood", ["", "FLOOD"])
def test_a_thief_of_the_host_key_makes_no_success(scene: Scene, flood: str) -> None:
    """Who has the host key only may forge every message: no success, no command on others, in bounds."""
    box = scene.box
    scene.agent("w1", "worker")
    scene.attacker("w2", "false_worker", "thief", flood, secret=box.secret)
    scene.says("w2", "listening")
    scene.agent(
        "launcher", "launcher", "--hosts", "w1:1,w2:1", "--wait-timeout", "20", "--start-timeout",
        "10", "--launch-retries", "0", "--", "python3", "-c", "print('the job ran')", options=SMALL,
    )  # fmt: skip
    code, log = box.wait("launcher", 90), box.logs("launcher")
    asked = docker("cp", f"{box.run}-w2:/tmp/asked", "-").stdout
    print(code, log, asked)  # noqa: T201 - shown where the test fails
    assert "subsystem mpiboot" in asked  # it was believed to be w2, as it has w2's key
    assert code in (NOT_READY, LOST, LAUNCH_FAILED, FALSE_SUCCESS)
    if not flood:
        assert "command" in asked  # mpirun came, and was told that all ended well
    assert "the job ran" not in log
    assert not box.state("launcher")["OOMKilled"]
    scene.assert_nothing_got_in(agents=("w1", "launcher"))


def test_strangers_at_workers_names_are_not_believed(scene: Scene) -> None:
    """Another host key, an endless banner, endless lines, silence: each is named, and 240 in time."""
    box = scene.box
    modes = ("stranger", "banner", "lines", "silent")
    for mode in modes:
        scene.attacker(mode, "false_worker", mode, secret="the secret of quite another job")
        scene.says(mode, "listening")
    scene.agent(
        "launcher", "launcher", "--hosts", ",".join(f"{mode}:1" for mode in modes), "--strikes", "0",
        "--attempt-timeout", "3", "--wait-timeout", "10", "--", "true", options=SMALL,
    )  # fmt: skip
    assert box.wait("launcher", 60) == NOT_READY, box.logs("launcher")
    log = box.logs("launcher")
    assert re.search(r"stranger\S* .*wrong host key", log), log
    assert not box.state("launcher")["OOMKilled"]
    assert "login" not in docker("cp", f"{box.run}-stranger:/tmp/asked", "-").stdout
    scene.assert_nothing_got_in(agents=("launcher",))


def test_no_announcement_without_the_key(scene: Scene) -> None:
    """A launcher that hears announcements hears none of an attacker's, and the right node's then."""
    box = scene.box
    scene.agent("launcher", "launcher", "--hosts", "announce:1", "--", "true")
    scene.says("launcher", "waiting for 1 node")
    scene.attacker("burglar", "attacker", "keys", "launcher", "22")
    scene.says("burglar", "tried", 60)
    scene.agent("w1", "worker", "--announce-to", "launcher")
    assert box.wait("launcher", 60) == 0
    assert box.wait("w1", 30) == 0
    scene.assert_nothing_got_in("burglar", agents=("w1", "launcher"))
