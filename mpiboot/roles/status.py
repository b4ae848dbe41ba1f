"""Show a job from inside any of its containers: `mpiboot status`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpiboot.errors import UsageError
from mpiboot.model import flags, values
from mpiboot.model.outcome import Stage
from mpiboot.model.record import dataclass
from mpiboot.model.spec import Spec
from mpiboot.roles import onlooking

if TYPE_CHECKING:
    from mpiboot.model.settings import Settings
    from mpiboot.report.terminal.telling import Watched

_EVERY = Spec(
    name="interval_s", kind="seconds", default=2.0, help="", roles=(), short=(), least=0.2,
    most=3600, choices=(), metavar="SECONDS",
)  # fmt: skip
# A first look finds no measure of what is used; who looks once waits for it, and not for long.
_AGAIN_S, _MOST_LOOKS = 0.4, 4
_VAIN = 1  # exit code where there is nothing to show
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GONE = "mpiboot has left this container, and no word of how the job ended"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command line asks for.

    Attributes:
        watch: whether to go on to the job's end.
        as_json: whether programs read it.
        every_s: seconds between two looks.
    """

    watch: bool
    as_json: bool
    every_s: float


@dataclass(frozen=True, kw_only=True)
class Reply:
    """How it went: an exit code, and why there is nothing to show; empty: there was something."""

    code: int
    fault: str = ""


def parse(argv: Sequence[str]) -> Request:
    """Read the words of `mpiboot status`.

    Raises:
        UsageError: they make no sense.
    """
    made = flags.bare(
        "mpiboot status",
        "Show the job of this container: phase, stages, workers, ranks, what they use, and how it"
        " ended. The launcher's container knows all of it, and a worker's asks there.",
    )
    made.add_argument(
        "--watch", action="store_true",
        help="draw it anew until the job has ended; where stdout is no terminal, a line at each"
        " change",
    )  # fmt: skip
    made.add_argument(
        "--json", action="store_true",
        help="print the view document, with --watch one in each line",
    )  # fmt: skip
    made.add_argument(
        "--interval", default="2", metavar="SECONDS", help="between two looks of --watch (2)"
    )
    given = made.parse_args(list(argv))
    try:
        every_s = float(str(values.convert(_EVERY, given.interval)))
    except ValueError as fault:
        raise UsageError(f"--interval {given.interval!r}: expected {fault}") from fault
    return Request(watch=given.watch, as_json=given.json, every_s=every_s)


def run(request: Request, settings: Settings, env: Mapping[str, str]) -> Reply:
    """Show the job on stdout.

    Args:
        request: what and how.
        settings: where the agent is, and where it leaves its status.
        env: the environment.
    """
    views = _views(settings, env, request.every_s if request.watch else _AGAIN_S)
    showing = _watch(views, request, env) if request.watch else _look(views, request, env)
    try:
        return asyncio.run(_unless_stopped(showing))
    except onlooking.UnseenError as fault:
        return Reply(code=_VAIN, fault=str(fault))


async def _unless_stopped(showing: Coroutine[Any, Any, Reply]) -> Reply:
    """Show until a signal comes: then the terminal is put back before we end by it."""
    loop, came = asyncio.get_running_loop(), []
    task = asyncio.ensure_future(showing)

    def stop(number: int) -> None:
        came.append(number)
        task.cancel()

    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_IGN:  # nohup
            continue
        loop.add_signal_handler(number, stop, number)
    await asyncio.wait({task})
    if task.cancelled() and came:
        return Reply(code=128 + came[0])
    return task.result()


async def _views(
    settings: Settings, env: Mapping[str, str], every_s: float
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the view as often as it is asked for; where the agent has ended, what it has left.

    Raises:
        UnseenError: nothing is to be seen.
    """
    ended, none = False, True
    try:
        async for view in onlooking.views(settings.runtime_dir, env, every_s):
            none = False
            ended = view.get("status", {}).get("outcome") is not None
            yield view
            if ended:
                return
    except onlooking.UnseenError as fault:
        if none and _left(settings, env) is None:
            if isinstance(fault, onlooking.NobodyError):
                raise _without_end(str(fault), settings) from fault
            raise
    left = _left(settings, env)
    if left is None:
        raise _without_end(_GONE, settings)
    yield left


def _without_end(text: str, settings: Settings) -> onlooking.UnseenError:
    return onlooking.UnseenError(f"{text}{onlooking.elsewhere(settings.status_file)}")


def _left(settings: Settings, env: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what an agent that has ended has left; None where it did not come to an end."""
    from mpiboot.report.terminal import left  # noqa: PLC0415 - for few

    status = onlooking.left(settings.runtime_dir, settings.status_file, env)
    return left.document(status) if status is not None else None


async def _look(
    views: AsyncGenerator[dict[str, Any], None], request: Request, env: Mapping[str, str]
) -> Reply:
    async with contextlib.aclosing(views):
        view = await anext(views)
        for _ in range(_MOST_LOOKS):
            if _measured(view):
                break
            view = await anext(views, view)
    if request.as_json:
        sys.stdout.write(f"{json.dumps(view, indent=2)}\n")
        return Reply(code=0)
    from mpiboot.report.terminal import document, telling  # noqa: PLC0415 - loads rich

    telling.once(document.read(view), sys.stdout, env)
    return Reply(code=0)


def _measured(view: Mapping[str, Any]) -> bool:
    """Tell whether all that is there says how busy it is: that takes two readings."""
    running = view.get("status", {}).get("stage") == Stage.RUNNING.value
    held = [one for one in view.get("workers", ()) if one.get("lease") == "held"]
    return not running or all(one.get("cpu_percent") is not None for one in held)


async def _watch(
    views: AsyncGenerator[dict[str, Any], None], request: Request, env: Mapping[str, str]
) -> Reply:
    async with contextlib.aclosing(views):
        if request.as_json:
            async for each in views:
                sys.stdout.write(f"{json.dumps(each, separators=(',', ':'))}\n")
                sys.stdout.flush()
            return Reply(code=0)
        from mpiboot.report.terminal import document, telling  # noqa: PLC0415 - loads rich

        watched = telling.Watched(sys.stdout, env, request.every_s)
        view: dict[str, Any] = {}
        with _on_screen(watched):
            async for view in views:
                watched.show(document.read(view))
    telling.once(document.read(view), sys.stdout, env, short=True)
    return Reply(code=0)


@contextlib.contextmanager
def _on_screen(watched: Watched) -> Iterator[None]:
    """Draw again when the window changes its size, and give the screen back at last."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, watched.resized)
    try:
        yield
    finally:
        watched.close()
