"""How each fault of the matrix is brought about in real containers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.docker.conftest import docker
from tests.helpers.eventually import eventually
from tests.helpers.rigs import FILL, POLL_S, Rig


def _kill(rig: Rig) -> None:
    docker("kill", rig.whole(rig.cell.on), check=True)


def _pause(rig: Rig) -> None:
    # runc now and then cannot freeze processes that are very busy, and says so.
    eventually(lambda: docker("pause", rig.whole(rig.cell.on), check=True), 10)


def _cut(rig: Rig) -> None:
    docker("network", "disconnect", rig.box.run, rig.whole(rig.cell.on), check=True)


def _kill_daemon(rig: Rig) -> None:
    rig.shell(rig.cell.on, "pkill -9 -x 'orted|prted|hydra_pmi_proxy'")


def _kill_rank(rig: Rig) -> None:
    rig.shell(rig.cell.on, "kill -9 $(cat /tmp/rank)")


def _fault(rig: Rig) -> None:
    rig.shell(rig.cell.on, "touch /tmp/fault")


def _kill_listener(rig: Rig) -> None:
    """Kill the one that listens; once there is a new one, the job may end."""
    find = r"pgrep -f '[l]istener\]'"
    rig.shell(
        rig.cell.on,
        f'old=$({find}); kill -9 "$old";'
        f' until new=$({find}) && [ "$new" != "$old" ]; do sleep 0.1; done',
    )
    rig.end_job()


def _kill_sshd(rig: Rig) -> None:
    rig.shell(rig.cell.on, "pkill -9 sshd")


def _kill_agent(rig: Rig) -> None:
    rig.send_init(rig.cell.on, "KILL")


def _fill(rig: Rig) -> None:
    rig.shell(rig.cell.on, f"{FILL}; true")
    rig.end_job()


def _term(rig: Rig) -> None:
    docker("kill", "--signal", "TERM", rig.whole(rig.cell.on), check=True)


def _term_twice(rig: Rig) -> None:
    _term(rig)
    eventually(partial(_assert_said, rig, "SIGTERM: stopping"), 20, POLL_S)
    _term(rig)


def _assert_said(rig: Rig, text: str) -> None:
    assert text in rig.box.logs(rig.cell.on)


def _term_ending(rig: Rig) -> None:
    """End the job while an agent is frozen: its answer is what the launcher waits for at the end."""
    rig.send_init("w2", "STOP")
    rig.end_job()
    eventually(partial(rig.assert_stage, "ending"), 30, 0.05)
    _term(rig)
    rig.send_init("w2", "CONT")


def _nothing(_rig: Rig) -> None:
    """The fault is there from the start."""


HOW: dict[str, Callable[[Rig], None]] = {
    "kill": _kill,
    "pause": _pause,
    "cut": _cut,
    "kill-daemon": _kill_daemon,
    "kill-rank": _kill_rank,
    "fault": _fault,
    "kill-listener": _kill_listener,
    "kill-sshd": _kill_sshd,
    "kill-agent": _kill_agent,
    "fill": _fill,
    "term": _term,
    "term-twice": _term_twice,
    "term-ending": _term_ending,
    "nothing": _nothing,
}
