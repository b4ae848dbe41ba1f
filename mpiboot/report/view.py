"""A job as people look at it: one document for the page and for `mpiboot status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.record import dataclass, field
from mpiboot.model.standing import Task
from mpiboot.plan import openly
from mpiboot.plan.gather import Seen
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.metering import Reading
from mpiboot.plan.ranks import Ranks

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One worker of the job, as its launcher sees it.

    Attributes:
        task: how it stands.
        seen: how far it was reached; None for a worker that tells of itself.
        since_s: seconds in this state.
        lease: held, plain (an sshd without an agent), none or lost.
        heartbeat_age_s: seconds since it was heard last; None without a lease.
        reading: what it uses; None while it has not said.
        ranks: those that run or ran there: number → state, code, signal.
    """

    task: Task
    seen: Seen | None
    since_s: float | None = None
    lease: str = "none"
    heartbeat_age_s: float | None = None
    reading: Reading | None = None
    ranks: Mapping[int, Mapping[str, object]] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return its part of the document."""
        task, seen, reading = self.task, self.seen, self.reading
        facts = seen.facts if seen is not None else None
        used = reading.usage if reading is not None else None
        limit = used.limit_bytes if used is not None else None
        return {
            "name": task.name,
            "host": task.host,
            "phase": task.phase.value,
            "reason": task.reason,
            "state": seen.reach.value if seen is not None else "",
            "ready": seen.reach.ready if seen is not None else True,
            "detail": seen.detail if seen is not None else "",
            "since_s": _rounded(self.since_s),
            "slots": task.slots,
            "lease": self.lease,
            "heartbeat_age_s": _rounded(self.heartbeat_age_s),
            "cpus": facts.cpus or None if facts is not None else None,
            "cpu_percent": reading.cpu_percent if reading is not None else None,
            "memory_bytes": used.memory_bytes if used is not None else None,
            "memory_limit_bytes": limit or (facts.memory_bytes or None if facts else None),
            "gpus": [dict(vars(one)) for one in used.gpus] if used is not None else [],
            "mpi": facts.mpi if facts is not None else "",
            "version": facts.version if facts is not None else "",
            "ranks": [self._rank(rank, state) for rank, state in sorted(self.ranks.items())],
        }

    def _rank(self, rank: int, state: Mapping[str, object]) -> dict[str, object]:
        running = self.reading is not None and state["state"] == "running"
        percent = self.reading.ranks_percent.get(rank) if running and self.reading else None
        used = self.reading.usage.ranks.get(rank) if running and self.reading else None
        memory = used[1] if used is not None else None
        return {"rank": rank, **state, "cpu_percent": percent, "memory_bytes": memory}


@dataclass(frozen=True, kw_only=True)
class View:
    """All that is shown of a job.

    Attributes:
        at: when, RFC 3339.
        sender: hostname of who tells.
        complete: whether a launcher tells; a worker knows only itself.
        status: the status document.
        seconds: how long each stage lasted.
        waited_s: how long workers were, or have been, waited for; None before.
        deadline_s: of that wait; None where nobody waits.
        workers: in the job's order.
        plan: how mpirun is called, once that is decided.
        stderr: the job's last lines.
        log: the agent's last lines.
    """

    at: str
    sender: str
    complete: bool
    status: Mapping[str, object]
    seconds: Mapping[str, float]
    waited_s: float | None = None
    deadline_s: float | None = None
    workers: Sequence[Worker] = ()
    plan: LaunchPlan | None = None
    stderr: Sequence[str] = ()
    log: Sequence[str] = ()

    def to_json(self) -> dict[str, object]:
        """Return the document; values that may be secrets are not in it."""
        status = dict(self.status)
        command = status.get("command")
        if isinstance(command, list):
            status["command"] = openly.words(command)
        return {
            "schema": SCHEMA,
            "at": self.at,
            "complete": self.complete,
            "from": self.sender,
            "status": status,
            "seconds": {stage: round(lasted, 3) for stage, lasted in self.seconds.items()},
            "waited_s": _rounded(self.waited_s),
            "deadline_s": self.deadline_s,
            "workers": [one.to_json() for one in self.workers],
            "hostfile": hostfile(self.plan),
            "plan": _plan(self.plan),
            "stderr": list(self.stderr),
            "log": list(self.log),
        }


def states(ranks: Ranks) -> dict[str, dict[int, dict[str, object]]]:
    """Group the ranks of a job by host: host → rank → state, code and signal."""
    ends = {end.rank: end for end in ranks.ends}
    by_host: dict[str, dict[int, dict[str, object]]] = {}
    for rank, host in ranks.started.items():
        end = ends.get(rank)
        state = "running" if end is None else "failed" if end.failed else "ended"
        code, signal = (None, None) if end is None else (end.code, end.signal)
        by_host.setdefault(host, {})[rank] = {"state": state, "code": code, "signal": signal}
    return by_host


def hostfile(plan: LaunchPlan | None) -> str:
    """Return the hostfile that was written; empty before, and where the job has none."""
    files = plan.files if plan is not None else ()
    return next((one.text for one in files if one.path.endswith("/hostfile")), "")


def _plan(plan: LaunchPlan | None) -> dict[str, object] | None:
    if plan is None:
        return None
    return {
        "argv": openly.words(plan.argv),
        "notes": list(plan.notes),
        "steps": [
            {"kind": step.kind, "text": step.text, "reason": step.reason}
            for step in openly.steps(plan)
        ],
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
