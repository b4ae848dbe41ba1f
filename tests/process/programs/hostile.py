"""A worker's end of the link that means harm: sshd's subsystem, `hostile.py MODE PYTHON WRAPPER`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

VERSION = 2


def main() -> None:
    """Greet as a worker does, then do as the mode says."""
    mode, python, wrapper = sys.argv[1:]
    if mode == "no-facts":
        forever(b"\n" * 4096)
    if mode == "huge-facts":
        write(line("facts", facts={"hostname": "x" * (10 << 20)}, ticket=1))
        time.sleep(300)
    facts = {"mpi_path": "/usr/bin/mpirun", "gpus": 10**30, "python": python, "wrapper": wrapper}
    write(line("facts", facts=facts, ticket=[1, "x"] if mode == "ticket" else 1))
    for text in sys.stdin:
        message = json.loads(text)
        if message["kind"] == "claim":
            write(line("claim", generation=1, id=message["id"]))
        elif message["kind"] == "phase":
            harm(mode)
        elif message["kind"] == "witness":
            write(line("witness", sessions=1))
        elif message["kind"] == "over":
            write(line("bye"))
        elif message["kind"] == "beat":
            write(line("beat"))


def harm(mode: str) -> None:
    """Do harm while the job runs."""
    if mode == "garbage":
        forever(b"\0\xff{[" * 50_000)
    if mode == "flood":
        forever(line("beat") * 1000)
    if mode == "million":
        write(b"".join(line("rank", rank=0, event="ended", code=9) for _ in range(100_000)))
        time.sleep(300)
    if mode == "signal":
        write(line("notice", event="stopping", signal=40))
    if mode in ("forge", "ticket"):
        for _ in range(5):  # before and after the true reports of the other worker
            for rank in range(2):
                write(
                    line(
                        "rank",
                        rank=rank,
                        event="ended",
                        code=9 * (rank == 0),
                        stderr="\x1b[2Jforged",
                    )
                )
            write(line("look", cpu_ms={"0": 1}) + line("stacks", rank=0, text="forged"))
            write(line("witness", oom_kills=9) + line("facts", facts={"cpus": 1e9}, ticket=9))
            write(line("call", port=[1]) + line("daemon") + b"{}\n[]\n\0\n")
            write(line("rank", rank=[1], event={}) + line("rank", rank=10**40, event="started"))
            time.sleep(0.1)


def line(kind: str, **body: Any) -> bytes:
    return json.dumps({"v": VERSION, "kind": kind, **body}).encode() + b"\n"


def forever(data: bytes) -> None:
    while True:
        write(data)


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
