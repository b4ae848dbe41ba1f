"""Run one mpirun of the job's command in daemons that stay, and end as it did.

The DVM serves one call at a time, for its slots are shared; whoever comes meanwhile, or finds that it
cannot serve, calls mpirun as ever. Open MPI 5.0.7's mpirun ends no ranks there when it is told to stop,
nor do they end with it; and where a job has failed, the next one may fail for no reason of its own. So
a call that does not succeed takes the DVM with it, and the next one begins anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpiboot.plan import dvm

_START_S = 60.0
_END_S = 5.0
_LOOK_S = 0.01
_STOPPED = 1  # mpirun's own code when it was told to stop
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PASSED = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTSTP, signal.SIGCONT)


class UnfitError(Exception):
    """The call must be an ordinary one; nothing has been run."""


class NeverError(UnfitError):
    """As above, and so must all later ones."""


class Dvm:
    """The job's daemons, as the calls of its command find them.

    Args:
        directory: private directory for what the calls have to know of each other.
        prte: path of the program that starts the daemons.
        mpirun: the real one.
        env: the environment of this call.
    """

    def __init__(self, directory: str, prte: str, mpirun: str, env: Mapping[str, str]) -> None:
        self._place = Path(directory)
        self._prte = prte
        self._mpirun = mpirun
        self._env = dict(env)
        self._pid = 0

    def run(self, args: Sequence[str]) -> int:
        """Run mpirun in it; return its exit code, 128 + n for a signal.

        Raises:
            UnfitError: it cannot be used now; NeverError: nor later.
        """
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback while daemons start
        self._place.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self._place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnfitError("another mpirun runs there") from None
        self._find()
        self._keep(busy=True)
        code = self._serve(args)
        if code:
            self._end()
        else:
            self._keep(busy=False)
        return code

    def _find(self) -> None:
        """See to it that daemons run, and that nobody else's ranks do."""
        state = self._state()
        if state.get("off"):
            raise UnfitError("")
        self._pid = state.get("pid", 0)
        variables = dvm.runtime_variables(self._env)
        if self._pid and not is_prte(self._pid):
            self._give_up("it has died")
        if self._pid and state["busy"]:
            self._end()
        if self._pid and state["variables"] != variables:
            raise UnfitError("variables of its runtime have changed since it began")
        if not self._pid:
            self._start()

    def _start(self) -> None:
        """Start the daemons, and prove that a call reaches them."""
        import subprocess  # noqa: PLC0415 - 15 ms that later calls save

        log, uri = self._place / "log", self._place / "uri"
        for path in (log, uri):
            path.unlink(missing_ok=True)
        root = ["--allow-run-as-root"] if os.getuid() == 0 else []
        with log.open("wb") as said:
            prte = subprocess.Popen(
                [self._prte, *root, "--report-uri", str(uri)], env=self._env, cwd="/",
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
            self._pid = prte.pid
            self._keep(busy=True)
            deadline = time.monotonic() + _START_S
            while dvm.READY not in log.read_text(errors="replace"):
                if prte.poll() is not None or time.monotonic() > deadline:
                    self._give_up("it could not be started")
                time.sleep(_LOOK_S)
            left_s = max(1.0, deadline - time.monotonic())
            try:
                code = subprocess.run(
                    [*self._call(), "-np", "1", "true"], env=self._env, check=False,
                    stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=left_s,
                ).returncode  # fmt: skip
            except subprocess.TimeoutExpired:
                code = -1
        if code != 0:
            self._give_up("mpirun does not reach it")

    def _call(self) -> list[str]:
        return [self._mpirun, "--dvm", f"file:{self._place}/uri"]

    def _serve(self, args: Sequence[str]) -> int:
        """Run mpirun to its end; being told to stop, we end the DVM, and mpirun with it."""
        stopped: list[int] = []
        child = 0

        def stop(number: int, _frame: object) -> None:
            stopped.append(number)
            self._signal(signal.SIGTERM)

        def hand_on(number: int, _frame: object) -> None:
            if child:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)

        for numbers, handler in ((_STOPS, stop), (_PASSED, hand_on)):
            for number in numbers:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, handler)
        # A group of its own: what is sent to ours reaches it through us, and once.
        child = os.posix_spawn(
            self._mpirun, [*self._call(), *args], self._env, setpgroup=0,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )  # fmt: skip
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if stopped:
            return _STOPPED
        return code if code >= 0 else 128 - code

    def _give_up(self, why: str) -> None:
        """End what there is of it, and let no later call try again."""
        self._end()
        with contextlib.suppress(FileNotFoundError):
            last = (self._place / "log").read_text(errors="replace").split("\n")[-2:]
            why = f"{why} ({last[0]})" if last[0] else why
        (self._place / dvm.STATE).write_text(json.dumps({"off": True}))
        raise NeverError(why)

    def _end(self) -> None:
        """End the daemons and all ranks below them."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while self._pid and is_prte(self._pid):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, os.WNOHANG)
            if time.monotonic() > deadline:
                self._signal(signal.SIGKILL)
            time.sleep(_LOOK_S)
        self._pid = 0
        (self._place / dvm.STATE).unlink(missing_ok=True)

    def _signal(self, number: int) -> None:
        if self._pid and is_prte(self._pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _state(self) -> dict[str, Any]:
        try:
            state: dict[str, Any] = json.loads((self._place / dvm.STATE).read_text())
        except FileNotFoundError:
            return {}
        return state

    def _keep(self, *, busy: bool) -> None:
        variables = dvm.runtime_variables(self._env)
        state = {"pid": self._pid, "busy": busy, "variables": variables}
        path = self._place / dvm.STATE
        new = path.with_suffix(".new")
        new.write_text(json.dumps(state))
        new.replace(path)


def is_prte(pid: int) -> bool:
    """Tell whether a process is a DVM's head: pids are used anew."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return name == "prte" and rest.split()[0] != "Z"
