"""The containers of one run of the fault matrix, and what is seen of them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.docker.conftest import Box, docker
from tests.docker.test_images import image
from tests.helpers.agents import PROGRAMS
from tests.helpers.cells import Cell, Seen
from tests.helpers.eventually import eventually
from tests.helpers.faults import SMALL
from tests.helpers.mounting import mounts

# A machine that is busy with other cells must not make a lease look lost.
QUICK = ("--heartbeat", "0.5", "--lease-timeout", "8")
NAMES = ("w1", "w2", "launcher")
UNDER_FAULT = ("python3", "-u", "/programs/under_fault.py")
UP_S = 120.0
# So long a launcher that is late is waited for, to tell by how much.
PATIENCE_S = 60.0
GONE_S = 45.0
LAST_S = 10.0
POLL_S = 0.25
FILL = f"cat /dev/zero >{SMALL}/fill 2>/dev/null"
# Only these may run where a worker waits for the next launcher.
AT_REST = re.compile(r"sshd|/opt/mpiboot/bin/python -I (-S )?(-m mpiboot[ .]|\S+/link/bridge\.py )")


class Rig:
    """The containers of one run of a cell.

    Args:
        box: where they are.
        stack: whose images.
        cell: the fault.
        directory: for their termination messages.
    """

    def __init__(self, box: Box, stack: str, cell: Cell, directory: Path) -> None:
        self.box, self.stack, self.cell, self._directory = box, stack, cell, directory
        self.begun = 0.0
        self.idle_s: dict[str, float] = {}

    def start(self) -> None:
        """Start workers and launcher, and see them where the fault wants them."""
        cell = self.cell
        self._start("w1", "worker")
        self._start("w2", "worker")
        job = (*UNDER_FAULT, *cell.job)
        self._start("launcher", "launcher", "--hosts", cell.hosts_given, after=("--", *job))
        if cell.when == "up":
            eventually(self._assert_up, UP_S, POLL_S)
        elif cell.when:
            eventually(partial(self.assert_stage, cell.when), UP_S, POLL_S)

    def _start(self, name: str, *words: str, after: tuple[str, ...] = ()) -> None:
        cell = self.cell
        message = self._directory / name
        message.touch()
        options = [
            *("-v", f"{PROGRAMS}:/programs:ro", "-v", f"{message}:/dev/termination-log"),
            *(*mounts(self.stack), *cell.docker.get(name, ())),
        ]
        words = (*words, *(QUICK if cell.quick else ()), *cell.options.get(name, ()), *after)
        if name in cell.full:
            options += ["--entrypoint", "sh"]
            words = ("-c", f'{FILL}; exec mpiboot "$@"', "sh", *words)
        self.box.start(name, *words, image=image(self.stack, "-test"), options=options)

    def _assert_up(self) -> None:
        self._assert_runs("launcher")
        log = self.box.logs("launcher")
        assert all(f"rank {rank} is up" in log for rank in (0, 1)), log

    def assert_stage(self, stage: str) -> None:
        self._assert_runs("launcher")
        done = self.box.exec("launcher", "cat", "/run/mpiboot/launcher/status.json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["stage"] == stage
        if stage == "waiting":
            for name in ("w1", "w2"):
                assert "launcher launcher is here" in self.box.logs(name)

    def _assert_runs(self, name: str) -> None:
        if self.box.state(name)["Status"] == "exited":
            raise RuntimeError(f"{name} ended too early")

    def whole(self, name: str) -> str:
        """Name a container for docker."""
        return f"{self.box.run}-{name}"

    def shell(self, name: str, script: str) -> None:
        """Run a few words in a container."""
        done = docker("exec", self.whole(name), "sh", "-c", script)
        assert done.returncode == 0, done.stdout + done.stderr

    def send_init(self, name: str, signal: str) -> None:
        """Send PID 1 of a container a signal as the machine's root: from inside, it ignores them."""
        pid = self.box.state(name)["Pid"]
        docker(
            "run", "--rm", "--pid", "host", "--network", "none",
            "--label", f"mpiboot.test={self.box.run}",
            "--entrypoint", "kill", image(self.stack, "-test"), f"-{signal}", str(pid), check=True,
        )  # fmt: skip

    def end_job(self) -> None:
        """Let all ranks end with 0."""
        self.shell("w2", "touch /tmp/end")

    def watch(self) -> tuple[int | None, float]:
        """Wait for the launcher's end; return its code and the seconds since the fault."""
        deadline = self.begun + self.cell.within_s + PATIENCE_S
        while (code := self._code("launcher")) is None and time.monotonic() < deadline:
            self._look_for_rest()
            time.sleep(POLL_S)
        return code, time.monotonic() - self.begun

    def settle(self) -> dict[str, int | None]:
        """Take the fault back, where one can, and wait for the workers' ends; return their codes."""
        if self.cell.how == "pause":
            docker("unpause", self.whole(self.cell.on), check=True)
        deadline = time.monotonic() + GONE_S
        while True:
            codes = {name: self._code(name) for name in ("w1", "w2")}
            gone = all(codes[name] is not None for name in self.cell.workers)
            if gone or time.monotonic() > deadline:
                return codes
            self._look_for_rest()
            time.sleep(POLL_S)

    def _code(self, name: str) -> int | None:
        state = self.box.state(name)
        return int(state["ExitCode"]) if state["Status"] == "exited" else None

    def _look_for_rest(self) -> None:
        for name in self.cell.isolated:
            if name not in self.idle_s and self.running(name) == []:
                self.idle_s[name] = time.monotonic() - self.begun

    def running(self, name: str) -> list[str] | None:
        """List what a container runs beside agent and sshd; None when it does not run itself."""
        done = docker("top", self.whole(name), "-eo", "pid,stat,args")
        if done.returncode != 0:
            return None
        lines = [line.split(None, 2) for line in done.stdout.splitlines()[1:]]
        return [" ".join(one) for one in lines if not AT_REST.search(one[2]) or one[1][0] == "Z"]

    def seen(self, inflict: Callable[[Rig], None]) -> Seen:
        """Carry the cell out; the clock runs from the moment in which the fault is brought about."""
        self.start()
        self.begun = time.monotonic()
        inflict(self)
        code, seconds = self.watch()
        workers = self.settle()
        reporter = self.cell.reporter
        report = self._report(reporter)
        first = (report.get("failures") or [{}])[0]
        lines = self.box.logs(reporter).strip().splitlines()
        agents = [line for line in lines if line.startswith("[mpiboot ")]
        return Seen(
            code=code, seconds=round(seconds, 2), fault=report.get("fault", ""),
            host=first.get("host", ""), rank=first.get("rank"), message=report.get("message", ""),
            last_line=agents[-1] if agents else "", log=self.box.logs("launcher"), workers=workers,
            idle_s={name: round(value, 2) for name, value in self.idle_s.items()},
            left=self._left(),
        )  # fmt: skip

    def _left(self) -> list[str]:
        """List what is left; what was just about to end gets a moment for it."""
        deadline = time.monotonic() + LAST_S
        while True:
            left = [f"{name}: {line}" for name in NAMES for line in self.running(name) or ()]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(POLL_S)

    def _report(self, name: str) -> dict[str, Any]:
        text = (self._directory / name).read_text()
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    def logs(self) -> str:
        """Show all that the containers said."""
        return "\n".join(f"--- {name} {self._code(name)}\n{self.box.logs(name)}" for name in NAMES)


@contextlib.contextmanager
def rig(stack: str, cell: Cell) -> Iterator[Rig]:
    """Give the containers of one run; all are removed at the end, with their network."""
    box = Box(f"mpiboot-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex)
    label = f"mpiboot.test={box.run}"
    docker("network", "create", "--internal", "--label", label, box.run, check=True)
    try:
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)  # noqa: PTH101, S103 - containers look in
            yield Rig(box, stack, cell, Path(directory))
    finally:
        ids = docker("ps", "-aq", "--filter", f"label={label}").stdout.split()
        if ids:
            docker("rm", "-f", *ids)
        docker("network", "rm", box.run)
