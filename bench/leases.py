"""What a lease costs: memory, CPU, threads and descriptors on both ends, while nothing happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.goal import Aim, Goal
from bench.moments import metric, until_alive
from bench.pods import Bench
from bench.usage import inside, use
from mpiboot.local.cluster import Pod

_WORKERS = 4  # real ones; each holds a share of the leases, under many names
_HELD_S = 300.0
_WATCHED_S = 20.0


def leases(count: int) -> Callable[[Bench], Mapping[str, float]]:
    """Hold so many leases, by names that lead to a few real workers; one more host never comes."""

    def run(box: Bench) -> Mapping[str, float]:
        workers = box.workers(_WORKERS, "--retry-grace", "3600")
        alone = _launcher(box, workers, 1)
        few = _watch(alone, workers)
        _end(alone)
        begun = time.monotonic()
        launcher = _launcher(box, workers, count)
        held_s = time.monotonic() - begun
        many = _watch(launcher, workers)
        bridges = [use(pid) for pid in _bridges(workers[0])[:20]]
        sessions = [use(_parent(pid)) for pid in _bridges(workers[0])[:20]]
        begun = time.monotonic()
        _end(launcher)
        ended_s = time.monotonic() - begun
        for pod in workers:
            pod.kill()
            pod.wait()
        more = count - 1
        return {
            "held after s": held_s,
            "released within s": ended_s,
            "launcher: RSS KiB": (many["rss"] - few["rss"]) / more,
            "launcher: PSS KiB": (many["pss"] - few["pss"]) / more,
            "launcher: CPU ms/min": (many["cpu"] - few["cpu"]) / more * 1000,
            "launcher: threads": (many["threads"] - few["threads"]) / more,
            "launcher: descriptors": (many["fds"] - few["fds"]) / more,
            "agent of worker: CPU ms/min": (many["their cpu"] - few["their cpu"]) / more * 1000,
            "bridge: RSS KiB": _mean([one.rss_kib for one in bridges]),
            "bridge: PSS KiB": _mean([one.pss_kib for one in bridges]),
            "sshd session: RSS KiB": _mean([one.rss_kib for one in sessions]),
            "sshd session: PSS KiB": _mean([one.pss_kib for one in sessions]),
            "all: launcher's CPU %": many["cpu"] / 60 * 100,
        }

    return run


def _launcher(box: Bench, workers: list[Pod], count: int) -> Pod:
    names = [f"lease-{number}" for number in range(count)]
    lines = tuple(
        f"{workers[number % len(workers)].address} {name}" for number, name in enumerate(names)
    )
    hosts = ",".join(f"{name}:1" for name in (*names, "never.invalid"))
    words = (
        "launcher",
        "--no-failure-is-final",
        "--wait-timeout",
        "600",
        "--hosts",
        hosts,
        "--",
        "true",
    )
    pod = box.agent(box.name("l"), *words, hosts_lines=lines)
    until_alive(pod)
    end = time.monotonic() + _HELD_S
    while metric(pod, "mpiboot_workers_ready") != count:
        if time.monotonic() > end:
            raise TimeoutError(f"{count} leases are not held:\n{box.log(pod)[-2000:]}")
        time.sleep(0.2)
    return pod


def _watch(launcher: Pod, workers: list[Pod]) -> dict[str, float]:
    """Watch a launcher and its workers do nothing; CPU is in seconds per minute."""
    time.sleep(12)  # garbage is collected again from then on, and logins are forgotten
    before, theirs = use(launcher.pid), sum(use(pod.pid).cpu_s for pod in workers)
    begun = time.monotonic()
    time.sleep(_WATCHED_S)
    after, theirs = use(launcher.pid), sum(use(pod.pid).cpu_s for pod in workers) - theirs
    per_minute = 60 / (time.monotonic() - begun)
    return {
        "rss": after.rss_kib,
        "pss": after.pss_kib,
        "threads": after.threads,
        "fds": after.descriptors,
        "cpu": (after.cpu_s - before.cpu_s) * per_minute,
        "their cpu": theirs * per_minute,
    }


def _end(launcher: Pod) -> None:
    launcher.send(15)
    launcher.wait(120)


def _bridges(worker: Pod) -> list[int]:
    """List the bridges of a worker, by the PIDs that we know them by."""
    return [pid for pid in inside(worker) if _is_bridge(pid)]


def _is_bridge(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return False
    return any(word.endswith(b"bridge.py") for word in words) and b"-c" not in words


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _mean(values: list[int]) -> float:
    return sum(values) / max(1, len(values))


GOALS: Mapping[str, Goal] = {
    f"leases-{count}": Goal(
        what=f"what one of {count} held leases costs, 4 real workers",
        aims=(
            Aim(figure="launcher: PSS KiB", most=100),
            Aim(figure="launcher: CPU ms/min", most=50),
        ),
        run=leases(count),
        unit="",
        apart=True,
    )
    for count in (64, 256, 1024)
}
