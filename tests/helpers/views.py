"""View documents for tests of the page, in any state and for any number of workers.

They keep to the form that docs/page.md and docs/status.md describe; what differs is named by the caller.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

View = dict[str, Any]
Worker = dict[str, Any]

GIB = 1024**3
STAGES = ("starting", "waiting", "launching", "running", "ending", "ended")
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/app/train.py", line 212, in <module>',
    "    main()",
    '  File "/app/train.py", line 187, in main',
    "    loss = step(model, batch)",
    "ValueError: loss is nan at step 8140",
)
NOTES = (
    "keys from MPIBOOT_SECRET_FILE; host keys of the job are pinned at the start",
    "Open MPI 4 (4.1.4)",
)
STEPS = (
    *(("note", one, "") for one in NOTES),
    ("write", "/run/mpiboot/launcher/hostfile", "the workers with their slots"),
    (
        "write",
        "/run/mpiboot/launcher/known_hosts",
        "host keys of this job; no other host is believed",
    ),
    ("set", "NCCL_DEBUG=INFO", "Horovod"),
    ("keep", "HOME", "belongs to a session or a shell; each rank's session has its own"),
    ("exec", "mpirun", "the MPI found here"),
    ("exec", "--hostfile /run/mpiboot/launcher/hostfile", "the workers with their slots"),
    ("exec", "--bind-to none", "Horovod: threads of a rank use all its CPUs"),
    ("exec", "--map-by slot", "Horovod: fill one worker before the next"),
    ("exec", "-- python3 train.py --epochs 90", "the job"),
)


def worker(number: int, *, slots: int = 4, gpus: int = 0, **changed: Any) -> Worker:
    """Make a worker that runs its ranks.

    Args:
        number: of the worker; its ranks follow from it.
        slots: ranks that it has.
        gpus: GPUs that it has.
        changed: fields that are to be otherwise.
    """
    busy = 55.0 + (number * 37) % 45
    made: Worker = {
        "name": f"train-worker-{number}",
        "host": f"10.0.{number // 250}.{number % 250 + 4}",
        "phase": "Running",
        "reason": "",
        "state": "ready",
        "ready": True,
        "detail": "",
        "since_s": 754.0,
        "slots": slots,
        "lease": "held",
        "heartbeat_age_s": round((number * 7 % 20) / 10, 1),
        "cpus": 8.0,
        "cpu_percent": busy * 8,
        "memory_bytes": int((11 + number * 5 % 30) * GIB),
        "memory_limit_bytes": 64 * GIB,
        "gpus": [_gpu(index, busy) for index in range(gpus)],
        "mpi": "Open MPI 4.1.4",
        "version": "0.1.0",
        "ranks": [rank(number * slots + local) for local in range(slots)],
    }
    return {**made, **changed}


def _gpu(index: int, busy: float) -> dict[str, Any]:
    return {
        "index": index,
        "name": "NVIDIA A100-SXM4-80GB",
        "busy_percent": min(100.0, busy + index),
        "memory_bytes": 61 * GIB,
        "memory_total_bytes": 80 * GIB,
    }


def rank(number: int, state: str = "running", **ended: int) -> dict[str, Any]:
    """Make a rank: running, ended or failed, with `code` or `signal`."""
    blank = {"code": None, "signal": None, "cpu_percent": 99.0, "memory_bytes": 2 * GIB}
    return {"rank": number, "state": state, **blank, **ended}


def absent(number: int, state: str = "name does not resolve", **changed: Any) -> Worker:
    """Make a worker that has not come."""
    name = f"train-worker-{number}"
    detail = {
        "name does not resolve": name,
        "connection refused": f"10.0.0.{number % 250 + 4} port 22",
    }
    unknown = dict.fromkeys(("heartbeat_age_s", "cpus", "cpu_percent"), None)
    return {
        **worker(number),
        "host": "", "phase": "Pending", "state": state, "ready": False, "slots": None,
        "detail": detail.get(state, ""), "reason": state, "since_s": 42.0, "lease": "none",
        "memory_bytes": None, "memory_limit_bytes": None, "mpi": "", "version": "",
        "ranks": [], **unknown, **changed,
    }  # fmt: skip


def view(
    stage: str,
    workers: Sequence[Worker],
    *,
    took_s: Sequence[float] = (0.1, 42.4, 0.3, 712.0, 0.2, 0.0),
    outcome: Mapping[str, Any] | None = None,
    phase: str | None = None,
    clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.timezone.utc),
    **changed: Any,
) -> View:
    """Make the document of a launcher.

    Args:
        stage: the last of its stages, one of STAGES.
        workers: as `worker` and `absent` make them.
        took_s: seconds of each stage; the last one of them lasts until now.
        outcome: how it ended.
        phase: where it does not follow from the stage and the outcome.
        clock: tells the time of now.
        changed: fields of the document that are to be otherwise; `status` is merged.
    """
    passed = STAGES[: STAGES.index(stage) + 1] if stage in STAGES else (*STAGES[:4], stage)
    now = clock()
    begins = [now - dt.timedelta(seconds=sum(took_s[n : len(passed)])) for n in range(len(passed))]
    ended = "Succeeded" if outcome and outcome["code"] == 0 else "Failed"
    early = "Pending" if stage in ("starting", "waiting", "launching") else "Running"
    ranks = [one for each in workers for one in each["ranks"]]
    status = {
        "schema": 1,
        "role": "launcher",
        "version": "0.1.0",
        "phase": phase or (ended if outcome else early),
        "stage": stage,
        "stages": [
            {"stage": one, "since": _wall(when)} for one, when in zip(passed, begins, strict=True)
        ],
        "command": ["python3", "train.py", "--epochs", "90"],
        "expected": len(workers),
        "ranks": {
            "expected": len(ranks),
            "started": len(ranks),
            "ended": sum(one["state"] != "running" for one in ranks),
        } if ranks else None,
        "attempts": [],
        "outcome": outcome,
        **changed.pop("status", {}),
    }  # fmt: skip
    there = [one for one in workers if one["slots"] is not None]
    begun = stage not in ("starting", "waiting")
    return {
        "schema": 1,
        "at": _wall(now),
        "complete": True,
        "from": "train-launcher",
        "status": status,
        "seconds": {},
        "waited_s": took_s[1],
        "deadline_s": 600.0,
        "workers": list(workers),
        "hostfile": "".join(f"{one['name']} slots={one['slots']}\n" for one in there) if begun else "",
        "plan": {"argv": ["mpirun", "--hostfile", "/run/mpiboot/launcher/hostfile", "--bind-to", "none",
                          "--map-by", "slot", "--", "python3", "train.py", "--epochs", "90"],
                 "notes": list(NOTES),
            "steps": [dict(zip(("kind", "text", "reason"), one, strict=True)) for one in STEPS]} if begun else None,
        "stderr": [f"step {step}: loss {2.31 - step / 9000:.4f}" for step in range(8100, 8140)] if begun else [],
        "log": [f"[launcher] ready {len(there)}/{len(workers)} after {took_s[1]:.0f} s"],
        **changed,
    }  # fmt: skip


def _wall(when: dt.datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"


# Whole jobs, one for each thing that can be seen.


def waiting(count: int = 3) -> View:
    """Some have come; the others are missing, each for a reason of its own."""
    few = count <= 3
    states = (
        ("name does not resolve", "connection refused")
        if few
        else ("name does not resolve", "no answer", "connection refused", "not tried yet")
    )
    came = 1 if few else count * 3 // 4
    there = [worker(n, ranks=[], cpu_percent=3.0, memory_bytes=GIB // 5) for n in range(came)]
    late = [absent(n, states[n % len(states)]) for n in range(came, count)]
    return view("waiting", [*there, *late], took_s=(0.1, 42.4))


def running(count: int = 3, gpus: int = 0) -> View:
    """All is well."""
    return view("running", [worker(n, gpus=gpus) for n in range(count)])


def failed(count: int = 3) -> View:
    """Rank 6 raised; the others were ended for it."""
    workers = [
        worker(n, phase="Succeeded", lease="none", heartbeat_age_s=None, cpu_percent=None)
        for n in range(count)
    ]
    for one in workers:
        one["ranks"] = [rank(each["rank"], "ended", signal=15) for each in one["ranks"]]
    message = "rank 6 on train-worker-1 ended with 1"
    workers[1].update(phase="Failed", reason=message)
    workers[1]["ranks"][2] = rank(6, "failed", code=1)
    outcome = {
        "code": 1, "fault": "user", "message": message, "ran": True,
        "failures": [
            {"message": message, "host": "train-worker-1", "rank": 6, "code": 1, "stderr": list(TRACEBACK)},
            {"message": "rank 0 on train-worker-0 was killed by SIGTERM", "host": "train-worker-0", "rank": 0, "signal": 15},
        ],
        "evidence": ["mpirun ended with 1", f"{count} of {count} workers testify by lease", f"{count * 4} of {count * 4} ranks started, {count * 4} ended"],
    }  # fmt: skip
    return view("ended", workers, outcome=outcome, stderr=list(TRACEBACK))


def never_came() -> View:
    """The wait is over, in vain: one has another key, one does not answer."""
    there = worker(0, ranks=[], lease="none", heartbeat_age_s=None, cpu_percent=None)
    refused = absent(1, "key refused", detail="the worker does not take the launcher's key")
    silent = absent(2, "no answer", detail="timed out")
    message = "1 of 3 workers ready after 600 s"
    outcome = {"code": 240, "fault": "infrastructure", "message": message, "ran": False}
    return view(
        "ended", [there, refused, silent], outcome=outcome, hostfile="", plan=None, stderr=[]
    )


def lost(count: int = 4) -> View:
    """One worker is gone and one is silent, while the job still runs."""
    workers = [worker(n) for n in range(count)]
    gone = {"lease": "lost", "heartbeat_age_s": None, "cpu_percent": None, "memory_bytes": None}
    workers[1].update(
        gone,
        phase="Failed",
        reason="train-worker-1 was lost: its sshd closed the connection and its address no longer answers",
    )
    workers[2].update(
        gone, phase="Unknown", reason="train-worker-2 was lost: frozen, no heartbeat for 17 s"
    )
    return view("running", workers)


def succeeded(count: int = 3) -> View:
    """The job ended well."""
    workers = [
        worker(n, phase="Succeeded", lease="none", heartbeat_age_s=None, cpu_percent=None)
        for n in range(count)
    ]
    for one in workers:
        one["ranks"] = [rank(each["rank"], "ended", code=0) for each in one["ranks"]]
    outcome = {
        "code": 0,
        "fault": "none",
        "message": "",
        "ran": True,
        "evidence": ["mpirun ended with 0"],
    }
    return view("ended", workers, outcome=outcome)


def many() -> View:
    """A thousand workers, three of them in trouble."""
    view = running(1000, gpus=1)
    workers = view["workers"]
    workers[17].update(
        phase="Failed",
        lease="lost",
        reason="train-worker-17 was lost: its address no longer answers",
    )
    workers[518].update(phase="Unknown", lease="lost", reason="train-worker-518 was lost: frozen")
    workers[702]["ranks"][1] = rank(2809, "failed", signal=11)
    return view


def paused(count: int = 3) -> View:
    """The ranks are stopped, the workers stay."""
    workers = [worker(n, ranks=[], cpu_percent=1.0) for n in range(count)]
    return view("paused", workers, phase="Paused", took_s=(0.1, 42.4, 0.3, 712.0, 65.0))


def alone() -> View:
    """A worker without a launcher tells of itself."""
    only = worker(0, ranks=[], lease="none", heartbeat_age_s=None, cpu_percent=2.0)
    status = {"role": "worker", "stages": [{"stage": "ready", "since": "2026-11-29T10:00:00.000Z"}]}
    for absent_field in ("command", "expected", "ranks", "attempts"):
        status[absent_field] = None  # type: ignore[assignment]
    made = view("starting", [only], phase="Running", status={**status, "stage": "ready"})
    for absent_field in ("command", "expected", "ranks", "attempts"):
        del made["status"][absent_field]
    return {
        **made,
        "complete": False,
        "from": "train-worker-0",
        "waited_s": None,
        "deadline_s": None,
    }


EVERY: tuple[Callable[[], View], ...] = (
    waiting,
    running,
    failed,
    never_came,
    lost,
    succeeded,
    many,
    paused,
    alone,
)
