"""`mpiboot shim`: what a shim calls where mpiboot could have a part in the call."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from mpiboot import log, platforms
from mpiboot.errors import CannotRunError, NotFoundError, UsageError
from mpiboot.model import options
from mpiboot.model.options import PARCEL, Resolved
from mpiboot.model.record import dataclass
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.plan import shimcalls, sshdcall
from mpiboot.plan.shimcalls import Turn
from mpiboot.roles import probe, surroundings
from mpiboot.runtime import files, latch

# Acts as a role with settings and a command, to the end: returns the exit code.
Act = Callable[[str, Resolved, list[str] | None], int]

_READY_S = 60.0
_LOOK_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that met a shim.

    Attributes:
        real: path of the real program.
        argv: as it is to be called.
    """

    real: str
    argv: tuple[str, ...]

    @property
    def name(self) -> str:
        """The program's name."""
        return self.argv[0].rpartition("/")[2]


def parse(argv: Sequence[str]) -> Call:
    """Read the words of `mpiboot shim REAL ARGV0 ARGS…`.

    Raises:
        UsageError: no shim would call it so.
    """
    if len(argv) < 2:
        raise UsageError("`mpiboot shim` is for the scripts that `mpiboot install` lays")
    return Call(real=argv[0], argv=tuple(argv[1:]))


def run(call: Call, resolved: Resolved, env: Mapping[str, str], act: Act) -> int:
    """Do what becomes of a call; return an exit code, unless it is the real program's."""
    turn = decide(call, resolved, env)
    if turn is Turn.PASS:
        number = latch.release()
        if number is not None:
            return 128 + number
        become(call, env)
    role = LAUNCHER if turn is Turn.LAUNCHER else WORKER
    settings = resolved.settings
    log.configure(role, level=settings.log_level, as_json=settings.log_format == "json")
    if turn is Turn.LAUNCHER:
        return act(role, of_launcher(call, resolved), [call.name, *call.argv[1:]])
    resolved = of_worker(call, resolved)
    if turn is Turn.WORKER:
        return act(role, resolved, None)
    return in_background(settings.runtime_dir, env, lambda: act(role, resolved, None))


def decide(call: Call, resolved: Resolved, env: Mapping[str, str]) -> Turn:
    """Ask the platform for this container's role, and decide."""
    try:
        told = platforms.identify(surroundings.seen(resolved.settings, env))
        role = "" if told.guessed else told.role
    except UsageError:  # nothing tells
        role = ""
    _, said = probe.run("live", resolved.settings.runtime_dir, env)
    at_work = said != probe.NOBODY
    return shimcalls.decide(call.name, call.argv[1:], env, role=role, at_work=at_work)


def of_worker(call: Call, resolved: Resolved) -> Resolved:
    """Take over what sshd was told, and say what was not."""
    words = sshdcall.parse(call.argv[1:])
    if words is None:
        return resolved
    configured = sshdcall.expand(files.read_text(words.file) or "", _included)
    terms = sshdcall.terms(words, configured)
    taken = [f"{name} {value} ({why})" for name, (value, why) in terms.usual.items()]
    log.logger.info(
        "%s: a worker serves in its place%s%s",
        " ".join([call.name, *call.argv[1:]]),
        f", with {', '.join(taken)}" if taken else "",
        f"; of no effect on it: {', '.join(terms.dropped)}" if terms.dropped else "",
    )
    return options.fit(resolved, terms.usual)


def of_launcher(call: Call, resolved: Resolved) -> Resolved:
    """Let the workers stay where further launches may follow."""
    log.logger.info("%s: a launcher calls it when the workers are there", call.name)
    first = files.kernel_text("/proc/1/comm").strip()
    if shimcalls.last(os.getpid(), os.getppid(), first):
        return resolved
    return options.fit(resolved, {"workers_leave": shimcalls.STAY})


def _included(pattern: str) -> list[str]:
    """Read the files that a pattern names, in sshd's order."""
    found = sorted(str(path) for path in Path("/").glob(pattern.lstrip("/")))
    return [files.read_text(path) or "" for path in found]


def become(call: Call, env: Mapping[str, str]) -> NoReturn:
    """Become the real program, in the environment that the shim had.

    Raises:
        NotFoundError: it is gone.
        CannotRunError: it cannot be executed.
    """
    own = {name: value for name, value in env.items() if not name.startswith(PARCEL)}
    parcels = {n.removeprefix(PARCEL): v for n, v in env.items() if n.startswith(PARCEL)}
    for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores these
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execve(call.real, list(call.argv), {**own, **parcels})  # noqa: S606 - argv is a list
    except FileNotFoundError:
        raise NotFoundError(
            f"{call.real}, which a shim stands for, is gone", hint="run `mpiboot install` again"
        ) from None
    except OSError as fault:
        raise CannotRunError(f"{call.real}: {fault.strerror}") from fault


def in_background(runtime_dir: str, env: Mapping[str, str], work: Callable[[], int]) -> int:
    """Do some work in the background, as sshd without -D would; return when it is ready.

    Returns:
        exit code for whoever called: 0 as soon as the agent is ready; the agent's own when it ended
        before.
    """
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        return work()
    latch.release()
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) % 256
        code, _ = probe.run("ready", runtime_dir, env)
        if code == 0:
            return 0
        time.sleep(_LOOK_S)
    log.logger.warning("the worker is not ready after %g s; it goes on", _READY_S)
    return 0
