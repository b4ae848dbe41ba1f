"""Run the benchmarks: `python -m bench [-n PAIRS] [NAME …]`; needs root, Open MPI and OpenSSH."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.pods import AGENT, Bench, bench, until_banner, until_ready, whole

# Records the moment at which the real mpirun is executed, and becomes it.
_WRAPPER = """#!/bin/sh
[ "$1" = --version ] || date +%s.%N >{stamp}
exec /usr/bin/mpirun "$@"
"""
Pair = tuple[float, float]


def ready(box: Bench) -> Pair:
    """Pod start → worker ready, and pod start → bare sshd's banner."""
    begun = time.monotonic()
    pod = box.agent(box.name("a"), "worker")
    agent = until_ready(pod) - begun
    pod.kill()
    begun = time.monotonic()
    pod = box.plain_sshd(box.name("b"))
    plain = until_banner(pod) - begun
    pod.kill()
    return agent, plain


def react(workers: int) -> Callable[[Bench], Pair]:
    """Last worker ready → mpirun executed; beside it the whole way from that worker's start."""

    def run(box: Bench) -> Pair:
        stamp, wrapper = box.directory / box.name("stamp"), box.directory / "mpirun"
        wrapper.write_text(_WRAPPER.format(stamp=stamp))
        wrapper.chmod(0o755)
        names = [box.name("r") for _ in range(workers)]
        early = [box.agent(name, "worker") for name in names[:-1]]
        for pod in early:
            until_ready(pod)
        hosts = ",".join(f"{name}:1" for name in names)
        options = ("--mpirun", str(wrapper), "--wait-timeout", "60", "--hosts", hosts)
        launcher = box.agent(box.name("l"), "launcher", *options, "--", "true")
        time.sleep(1.0)  # the launcher has reached all others and waits
        begun = time.time()  # noqa: TID251 - compared with another process's wall clock
        last = box.agent(names[-1], "worker")
        until_ready(last)
        now_ready = time.time()  # noqa: TID251 - as above
        if launcher.wait(60):
            raise RuntimeError(box.log(launcher.name))
        executed = float(stamp.read_text())
        for pod in (*early, last):
            pod.wait(30)
        return executed - now_ready, executed - begun

    return run


def job(workers: int) -> Callable[[Bench], Pair]:
    """Whole job of `true`, all workers ready: the launcher agent, and bare mpirun."""

    def run(box: Bench) -> Pair:
        names = [box.name("j") for _ in range(workers)]
        pods = [box.agent(name, "worker") for name in names]
        plain = [box.plain_sshd(box.name("p")) for _ in range(workers)]
        for pod in pods:
            until_ready(pod)
        for pod in plain:
            until_banner(pod)
        idle = box.agent(box.name("i"), "worker", "--http-port", "0")
        hosts = ",".join(f"{name}:1" for name in names)
        env = ("env", f"MPIBOOT_SECRET_FILE={box.secret}")
        ours = whole(idle, (*env, *AGENT, "launcher", "--hosts", hosts, "--", "true"))
        hostfile = box.directory / box.name("hosts")
        hostfile.write_text("".join(f"{pod.name} slots=1\n" for pod in plain))
        ssh = f"-i {box.key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -q"
        line = (
            "mpirun", "--allow-run-as-root", "--hostfile", str(hostfile), "-np", str(workers),
            "-bind-to", "none", "-map-by", "slot", "-mca", "pml", "ob1", "-mca", "btl", "^openib",
            "-mca", "plm_rsh_args", ssh, "true",
        )  # fmt: skip
        theirs = whole(idle, line)
        for pod in (*plain, idle):
            pod.kill()
        for pod in pods:
            pod.wait(30)
        return ours, theirs

    return run


BENCHES: dict[str, tuple[Callable[[Bench], Pair], str, str]] = {
    "ready": (ready, "worker ready", "bare sshd's banner"),
    "react-4": (react(4), "last ready → mpirun, 4 workers", "last started → mpirun"),
    "react-16": (react(16), "last ready → mpirun, 16 workers", "last started → mpirun"),
    "job-2": (job(2), "whole job, 2 workers", "bare mpirun"),
    "job-4": (job(4), "whole job, 4 workers", "bare mpirun"),
}


def measure(name: str, pairs: int) -> dict[str, object]:
    """Run one benchmark: a warm-up, then the counted pairs."""
    one, ours, theirs = BENCHES[name]
    with tempfile.TemporaryDirectory() as directory, bench(Path(directory)) as box:
        counted = [one(box) for _ in range(pairs + 1)][1:]
    first, second = [a for a, _ in counted], [b for _, b in counted]
    result: dict[str, object] = {
        "name": name,
        "pairs": pairs,
        "load": round(os.getloadavg()[0], 2),
        ours: _spread(first),
        theirs: _spread(second),
    }
    if not name.startswith("react"):  # there the second figure is context, not a baseline
        result["difference"] = _spread([a - b for a, b in counted])
        result["ratio"] = _spread([a / b for a, b in counted])
    return result


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "min": round(min(values), 3),
        "max": round(max(values), 3),
    }


def main() -> int:
    """Measure what was asked for, print a table, keep the figures as JSON."""
    made = argparse.ArgumentParser("python -m bench", description=__doc__)
    made.add_argument("-n", type=int, default=5, metavar="PAIRS", help="counted pairs (default 5)")
    made.add_argument("--out", default=".artifacts/bench.json", metavar="FILE")
    made.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}")
    chosen = made.parse_args()
    unknown = set(chosen.names) - set(BENCHES)
    if unknown or os.geteuid() != 0:
        made.error(
            f"no benchmark {', '.join(unknown)}" if unknown else "pods are namespaces: run as root"
        )
    results = []
    for name in chosen.names or BENCHES:
        result = measure(name, chosen.n)
        results.append(result)
        print(f"{name} ({chosen.n} pairs, {os.cpu_count()} CPUs, load {result['load']})")
        for key, value in result.items():
            if isinstance(value, dict):
                print(
                    f"  {key:<34} {value['median']:8.3f}  [{value['min']:.3f} to {value['max']:.3f}]"
                )
    out = Path(chosen.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
