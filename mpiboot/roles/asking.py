"""Ask the launcher of this container to run, pause or resume its job: the commands of these names."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.errors import UsageError
from mpiboot.link import control
from mpiboot.link.control import Answer
from mpiboot.model import flags, options, values
from mpiboot.model.record import dataclass
from mpiboot.model.spec import Spec
from mpiboot.plan.modes import Asked, Verb
from mpiboot.roles.agent import SOCKET
from mpiboot.runtime import files
from mpiboot.runtime.within import within

_PATIENCE = Spec(
    name="timeout_s", kind="seconds", default=0.0, help="", roles=(), short=(), least=0,
    most=31_536_000, choices=(), metavar="SECONDS",
)  # fmt: skip
_VAIN = 1  # exit code where nothing was done
_ACCEPT_S = 10.0  # a launcher answers at once; one that is stopped does not
_PURPOSES = {
    Verb.RUN: "Start the job of a launcher in debug mode, with its own command or another one.",
    Verb.PAUSE: "Warn the ranks of the job, give them time to save their work, and stop them.",
    Verb.RESUME: "Start the job that is paused again, as --resume-command says, or as it was.",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for.

    Attributes:
        asked: of the launcher.
        wait: whether to wait until it is done.
        timeout_s: for how long; 0: as long as it takes.
    """

    asked: Asked
    wait: bool
    timeout_s: float


@dataclass(frozen=True, kw_only=True)
class Reply:
    """How it went.

    Attributes:
        code: exit code.
        text: the last word.
        vain: whether what was asked for was not done, or is not known to be.
    """

    code: int
    text: str
    vain: bool = False


def parse(verb: Verb, argv: Sequence[str]) -> Request:
    """Read the words of `mpiboot run`, `pause` or `resume`.

    Raises:
        UsageError: they make no sense.
    """
    words, command = options.split_command(argv)
    made = flags.bare(f"mpiboot {verb.value}", _PURPOSES[verb])
    done = "the job is paused" if verb is Verb.PAUSE else "the job has ended"
    made.add_argument(
        "--wait", action=flags.YES_OR_NO, default=verb is Verb.PAUSE,
        help=f"wait until {done}" + ("" if verb is Verb.PAUSE else ", and exit with its code"),
    )  # fmt: skip
    made.add_argument(
        "--timeout", default="0", metavar="SECONDS",
        help="how long to wait at most (0: as long as it takes); what was asked for goes on",
    )  # fmt: skip
    if verb is Verb.PAUSE:
        made.add_argument(
            "--release-workers", action="store_true",
            help="let the workers leave; resume waits for new ones",
        )  # fmt: skip
    given = made.parse_args(list(words))
    if command is not None and (verb is Verb.PAUSE or not command):
        what = "a pause takes no command" if command else "no command after --"
        raise UsageError(what, hint=f"see mpiboot {verb.value} --help")
    release = verb is Verb.PAUSE and given.release_workers
    asked = Asked(verb=verb, command=tuple(command or ()), release=release)
    return Request(asked=asked, wait=given.wait, timeout_s=_seconds(given.timeout))


def _seconds(text: str) -> float:
    try:
        return float(str(values.convert(_PATIENCE, text)))
    except ValueError as fault:
        raise UsageError(f"--timeout {text!r}: expected {fault}") from fault


def run(
    request: Request, runtime_dir: str, env: Mapping[str, str], say: Callable[[str], None]
) -> Reply:
    """Ask and wait for the answer.

    Args:
        request: what and how.
        runtime_dir: of the settings.
        env: the environment.
        say: is given what is said meanwhile.
    """
    return asyncio.run(_run(request, runtime_dir, env, say))


async def _run(
    request: Request, runtime_dir: str, env: Mapping[str, str], say: Callable[[str], None]
) -> Reply:
    reason = "no mpiboot launcher runs here; ask in the launcher's container"
    for role in ("launcher", "worker"):
        for base in files.candidates(runtime_dir, env):
            try:
                return await _ask(base / role / SOCKET, request, say)
            except PermissionError:
                reason = f"{base} belongs to another user; ask as the user that mpiboot runs as"
            except OSError:
                continue
            except ValueError as fault:
                return Reply(code=64, text=str(fault), vain=True)
    return _in_vain(reason)


async def _ask(path: Path, request: Request, say: Callable[[str], None]) -> Reply:
    answers = control.converse(path, request.asked)
    async with contextlib.aclosing(answers):
        try:
            first = await within(_ACCEPT_S, anext(answers, None))
        except asyncio.TimeoutError:
            return _in_vain(f"the launcher does not answer within {_ACCEPT_S:g} s")
        if first is None:
            return _in_vain("the launcher ended without an answer")
        if first.state != control.ACCEPTED or not request.wait:
            return _last(first)
        say(first.text)
        try:
            last = await within(request.timeout_s or None, anext(answers, None))
        except asyncio.TimeoutError:
            return _in_vain(
                f"not done within {request.timeout_s:g} s; the launcher goes on with it"
            )
        return _last(last) if last is not None else _in_vain("the launcher ended without an answer")


def _last(said: Answer) -> Reply:
    if said.state == control.REFUSED:
        return _in_vain(f"refused: {said.text}")
    return Reply(code=said.code if said.state == control.DONE else 0, text=said.text)


def _in_vain(text: str) -> Reply:
    return Reply(code=_VAIN, text=text, vain=True)
