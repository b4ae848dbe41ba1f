"""What the cluster tells a pod's keeper: the contract between `pod` and the script `enter`."""

from __future__ import annotations

from typing import TypedDict


class Order(TypedDict):
    """Everything a pod is made of; plain values only, so that `marshal` can carry it."""

    owner: int  # PID of the process that owns the cluster; the pod dies with it
    hub_fd: int  # the hub's network namespace
    port: str  # name of the pod's port on the hub's bridge
    address: str  # dotted quad
    netmask: str  # dotted quad
    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    tmpfs: list[tuple[str, str]]  # target, mount options
    binds: list[tuple[str, str, bool]]  # source, target, read-only
    uid: int  # -1: stay root
    gid: int
    blocked: list[int]  # signals blocked across exec
