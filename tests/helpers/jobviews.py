"""View documents of jobs as their launchers and workers tell them, for those who draw them."""

from __future__ import annotations

import copy
from typing import Any

GIB = 1 << 30
COMMAND = ["python3", "train.py", "--epochs", "3", "--data", "/data/imagenet"]
_STAGES = ("starting", "waiting", "launching", "running", "ending", "ended")
_LASTED = {"starting": 0.11, "waiting": 12.3, "launching": 0.42, "running": 751.2, "ending": 0.2}
SCENES = (
    "waiting", "running", "gpus", "failed", "lost", "succeeded", "paused", "again", "alone",
)  # fmt: skip


def rank(number: int, state: str = "running", **more: Any) -> dict[str, Any]:
    """Return one rank of a document; one that runs is as busy as its number lets it be."""
    runs = state == "running"
    own = {"cpu_percent": 99.2 - number % 7, "memory_bytes": (3 + number % 3) * GIB}
    used = own if runs else {"cpu_percent": None, "memory_bytes": None}
    return {"rank": number, "state": state, "code": None, "signal": None, **used, **more}


def worker(
    number: int, *, slots: int = 4, ranks_are: str = "running", **more: Any
) -> dict[str, Any]:
    """Return one worker of a document, at work."""
    ranks = [rank(number * slots + at, ranks_are) for at in range(slots)]
    busy = ranks_are == "running"
    return {
        "name": f"train-worker-{number}", "host": f"10.0.{number // 250}.{number % 250 + 1}",
        "phase": "Running", "reason": "", "state": "ready", "ready": True, "detail": "",
        "since_s": 3.2 + number, "slots": slots, "lease": "held",
        "heartbeat_age_s": 0.8 + number % 4, "cpus": 8.0, "cpu_percent": 397.3 - number % 50 if busy else 0.4,
        "memory_bytes": 12.4 * GIB if busy else 0.2 * GIB, "memory_limit_bytes": 64 * GIB, "gpus": [],
        "mpi": "Open MPI 4.1.4", "version": "0.1.0", "ranks": ranks, **more,
    }  # fmt: skip


def pending(number: int, state: str, detail: str = "", **more: Any) -> dict[str, Any]:
    """Return one worker that is not ready."""
    unknown: dict[str, Any] = dict.fromkeys((
        "slots", "heartbeat_age_s", "cpus", "cpu_percent", "memory_bytes", "memory_limit_bytes",
    ))  # fmt: skip
    blank = {
        "phase": "Pending",
        "ready": False,
        "lease": "none",
        "mpi": "",
        "version": "",
        "ranks": [],
    }
    return {**worker(number), **unknown, **blank, "state": state, "detail": detail, **more}


def document(
    workers: list[dict[str, Any]], *, phase: str = "Running", stage: str = "running", **status: Any
) -> dict[str, Any]:
    """Return a whole document, as a launcher tells it."""
    begun = _STAGES[: _STAGES.index(stage) + 1] if stage in _STAGES else (*_STAGES[:4], stage)
    ranks = [one for each in workers for one in each["ranks"]]
    ended = sum(one["state"] != "running" for one in ranks)
    counts = {"expected": len(ranks), "started": len(ranks), "ended": ended} if ranks else None
    return {
        "schema": 1, "at": "2026-11-29T12:00:00.123Z", "complete": True, "from": "train-launcher",
        "status": {
            "schema": 1, "role": "launcher", "version": "0.1.0", "phase": phase, "stage": stage,
            "stages": [{"stage": one, "since": "2026-11-29T11:59:00.000Z"} for one in begun],
            "command": COMMAND, "expected": len(workers), "ranks": counts, "attempts": [],
            "outcome": None, **status,
        },
        "seconds": {one: _LASTED.get(one, 42.0) for one in begun},
        "waited_s": 12.3, "deadline_s": 600.0, "workers": workers,
        "hostfile": "", "plan": None, "stderr": [], "log": [],
    }  # fmt: skip


def scene(name: str, count: int = 3) -> dict[str, Any]:
    """Return the document of a job with so many workers in one of SCENES."""
    made: dict[str, Any] = copy.deepcopy(_SCENES[name](count))
    return made


def _waiting(count: int) -> dict[str, Any]:
    states = (
        ("connection refused", "10.0.0.7:22"), ("name does not resolve", "Name or service not known"),
        ("key refused", "Permission denied (publickey)"), ("not tried yet", ""),
    )  # fmt: skip
    late = [pending(at, *states[at % 4]) for at in range(count // 2, count)]
    there = [worker(at, phase="Pending", ranks=[]) for at in range(count // 2)]
    return document([*there, *late], phase="Pending", stage="waiting", ranks=None)


def _running(count: int) -> dict[str, Any]:
    return document([worker(at) for at in range(count)])


def _gpus(count: int) -> dict[str, Any]:
    gpus = [
        {"index": at, "name": "A100", "busy_percent": 93.0 - at, "memory_bytes": 30 * GIB,
         "memory_total_bytes": 80 * GIB} for at in range(4)
    ]  # fmt: skip
    return document([worker(at, gpus=gpus) for at in range(count)])


def _failed(count: int) -> dict[str, Any]:
    workers = [worker(at, ranks_are="ended", phase="Succeeded") for at in range(count)]
    last = count - 1
    why = f"rank {last * 4 + 1} on train-worker-{last} was killed by SIGSEGV"
    workers[last].update(phase="Failed", reason=why)
    workers[last]["ranks"][1].update(state="failed", signal=11)
    failures = [
        {"message": why, "host": f"train-worker-{last}", "rank": last * 4 + 1, "signal": 11,
         "stderr": ["loading /data/imagenet/shard-17", "Segmentation fault (core dumped)"]},
        {"message": "rank 0 on train-worker-0 ended with 1", "host": "train-worker-0", "rank": 0},
    ]  # fmt: skip
    outcome = {
        "code": 139, "fault": "user", "message": why, "ran": True, "failures": failures,
        "evidence": [],
    }  # fmt: skip
    return document(workers, phase="Failed", stage="ending", outcome=outcome)


def _lost(count: int) -> dict[str, Any]:
    workers = [worker(at) for at in range(count)]
    why = f"train-worker-{count - 1} was lost: it sends no heartbeats any more"
    workers[-1].update(phase="Unknown", reason=why, lease="lost", heartbeat_age_s=41.0)
    return document(workers, phase="Unknown" if count == 1 else "Running")


def _succeeded(count: int) -> dict[str, Any]:
    workers = [worker(at, ranks_are="ended", phase="Succeeded") for at in range(count)]
    outcome = {"code": 0, "fault": "none", "message": "the job succeeded", "failures": []}
    return document(workers, phase="Succeeded", stage="ended", outcome=outcome)


def _paused(count: int) -> dict[str, Any]:
    workers = [worker(at, ranks=[], cpu_percent=0.3) for at in range(count)]
    return document(workers, phase="Paused", stage="paused")


def _again(count: int) -> dict[str, Any]:
    attempts = [
        {"number": 1, "kind": "first", "outcome": {"code": 241, "message": "train-worker-1 was lost"}},
        {"number": 2, "kind": "restart", "outcome": None},
    ]  # fmt: skip
    return document([worker(at) for at in range(count)], attempts=attempts)


def _alone(_count: int) -> dict[str, Any]:
    made = document([worker(0, ranks=[], state="", lease="none", heartbeat_age_s=None)])
    made.update({"complete": False, "from": "train-worker-0", "waited_s": None, "deadline_s": None})
    made["status"].update(role="worker", stage="ready", command=None, expected=None)
    made["seconds"] = {"starting": 0.2, "ready": 31.0}
    return made


_SCENES = {
    "waiting": _waiting, "running": _running, "gpus": _gpus, "failed": _failed, "lost": _lost,
    "succeeded": _succeeded, "paused": _paused, "again": _again, "alone": _alone,
}  # fmt: skip
