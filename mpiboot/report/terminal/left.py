"""The view of a job that has ended, from the status file that its agent left behind."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime

from mpiboot.model.spec import LAUNCHER, WORKER

Data = Mapping[str, object]


def document(status: Data) -> dict[str, object]:
    """Return a view document of what a status file tells; nobody measures any more.

    Args:
        status: the status document of either role.
    """
    role = status.get("role")
    tasks = _mappings(status, "tasks")
    own = next((task for task in tasks if task.get("role") == role), {})
    hosts = {host.get("name"): host for host in _mappings(status, "hosts")}
    stages = _mappings(status, "stages")
    return {
        "schema": 1,
        "at": stages[-1].get("since") if stages else None,
        "complete": role == LAUNCHER,
        "from": own.get("name", ""),
        "status": dict(status),
        "seconds": _lasted(stages),
        "waited_s": None,
        "deadline_s": None,
        "workers": [
            _worker(task, hosts.get(task.get("name"), {}))
            for task in tasks
            if task.get("role") == WORKER
        ],
        "hostfile": "",
        "plan": None,
        "stderr": [],
        "log": [],
    }


def _worker(task: Data, host: Data) -> dict[str, object]:
    state = host.get("state", "")
    unknown = dict.fromkeys(
        ("since_s", "heartbeat_age_s", "cpus", "cpu_percent", "memory_bytes", "memory_limit_bytes")
    )
    told = {key: task.get(key) for key in ("name", "host", "phase", "reason", "slots")}
    return {
        **told,
        **unknown,
        "state": state,
        "ready": isinstance(state, str) and state.startswith("ready"),
        "detail": host.get("detail", ""),
        "lease": "none",
        "gpus": [],
        "mpi": "",
        "version": "",
        "ranks": [],
    }


def _lasted(stages: Sequence[Data]) -> dict[str, float]:
    """Return how long each stage lasted, by when the next one began."""
    begun = [(str(one.get("stage", "")), _time(one.get("since"))) for one in stages]
    lasted: dict[str, float] = {}
    for (stage, since), (_, until) in itertools.pairwise(begun):
        if since is not None and until is not None:
            seconds = (until - since).total_seconds()
            lasted[stage] = lasted.get(stage, 0.0) + max(0.0, seconds)
    return lasted


def _time(said: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(said).replace("Z", "+00:00"))
    except ValueError:
        return None


def _mappings(data: Data, key: str) -> list[Data]:
    value = data.get(key)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
