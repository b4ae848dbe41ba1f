"""From workers that are ready to mpirun: all of them at once, or all but the last one held."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.moments import until_banner
from bench.pods import Bench, end, wall, whole
from mpiboot.local.cluster import Pod

# Records the moment at which the real mpirun is executed, and becomes it.
_WRAPPER = """#!/bin/sh
[ "$1" = --version ] || date +%s.%N >{stamp}
exec /usr/bin/mpirun "$@"
"""
_LEAST_S = 0.0001  # who knows before the worker itself has proven it counts as this quick
_WIREUP = "wireup"
_QUICK = ("determined", "sagemaker-toolkit", _WIREUP)
_ALL = (*_QUICK, "until-ssh", "sagemaker-sdk3", "operator-backoff", "operator-entrypoint",
        "kubeflow-openmpi", "horovodrun")  # fmt: skip
_BLIND = ("operator-entrypoint",)  # says go without a look at sshd: shown, never the best


def react(count: int, peers: Sequence[str]) -> Callable[[Bench], Figures]:
    """Time last worker ready → mpirun executed, all others being held already; then the peers."""

    def run(box: Bench) -> Figures:
        ours, steps = _react_ours(box, count)
        plain = box.plain_sshds(count - 1)
        late = {peer: took for peer in peers if (took := _react_peer(box, plain, peer)) is not None}
        end(plain)
        best = min(took for peer, took in late.items() if peer not in _BLIND)
        return {OURS: ours, THEIRS: best, **steps, **late}

    return run


def _react_ours(box: Bench, count: int) -> tuple[float, Figures]:
    wrapper, stamp = _wrapper(box)
    early = box.workers(count - 1)
    name = box.name("w")
    launcher = _launcher(box, wrapper, [*(pod.name for pod in early), name])
    for pod in early:
        box.until_said(pod, "is here")
    time.sleep(0.5)  # now the launcher waits for nothing but the last one
    begun = wall()
    last = box.agent(name, "worker")
    if launcher.wait(60):
        raise RuntimeError(box.log(launcher)[-2000:])
    executed, ready_at = float(stamp()), box.until_said(last, "ready on port")
    for pod in (*early, last):
        pod.wait(30)
    return max(_LEAST_S, executed - ready_at), {"  … since its start": executed - begun}


def _react_peer(box: Bench, plain: Sequence[Pod], peer: str) -> float | None:
    """Time the last sshd's banner → a peer would start mpirun; None: it gave up."""
    here, name = box.plain_sshd(box.name("l")), box.name("p")
    until_banner(here)
    if peer == _WIREUP:  # each worker reports by one ssh, again after 5 s only if main was not up
        last = box.plain_sshd(name)
        until_banner(last)
        took = whole(last, ("ssh", "-qn", *box.ssh_options, here.name, "true"))
        end([last, here])
        return took
    words = _peer(box, peer, [*(pod.name for pod in plain), name])
    with here.popen_in(words, stdout=subprocess.PIPE) as running:
        time.sleep(1.5 + 0.37 * (box.taken % 7))  # no phase of theirs is met twice
        last = box.plain_sshd(name)
        until_banner(last)
        ready_at = wall()
        out, _ = running.communicate(timeout=120)
    end([last, here])
    said = out.decode().split("\n", 1)[0]
    return None if said == "gave up" else max(_LEAST_S, float(said) - ready_at)


def all_ready(count: int) -> Callable[[Bench], Figures]:
    """Time the wait for workers that are all ready.

    Ours counts from the moment at which the launcher's pod runs it, so the start of its interpreter
    is in it, and the choice of mpirun; the others count from where their interpreters are up.
    """

    def run(box: Bench) -> Figures:
        workers, plain = box.workers(count), box.plain_sshds(count)
        here = box.bystander(box.name("l"))
        wrapper, stamp = _wrapper(box)

        def ours() -> float:
            launcher = _launcher(box, wrapper, [pod.name for pod in workers])
            begun = wall()
            if launcher.wait(120):
                raise RuntimeError(box.log(launcher)[-2000:])
            return float(stamp()) - begun

        others: dict[str, float] = {}

        def theirs() -> float:
            for peer in ("sequential-paramiko", "parallel-ssh", "determined"):
                done = here.exec(_peer(box, peer, [pod.name for pod in plain]), timeout_s=120)
                said, took, cpu = done.stdout.split("\n")[:3]
                if said == "gave up":
                    raise RuntimeError(f"{peer} gave up on workers that are ready")
                others[peer], others[f"  … CPU of {peer}"] = float(took), float(cpu)
            return min(others["sequential-paramiko"], others["parallel-ssh"])

        one, other = box.pair(ours, theirs)
        end([*workers, *plain, here])
        return {OURS: one, THEIRS: other, **others}

    return run


def _wrapper(box: Bench) -> tuple[str, Callable[[], str]]:
    """Make an mpirun that says when it was executed; return it, and what reads the moment."""
    stamp, wrapper = box.directory / box.name("stamp"), box.directory / box.name("mpirun")
    wrapper.write_text(_WRAPPER.format(stamp=stamp))
    wrapper.chmod(0o755)
    return str(wrapper), stamp.read_text


def _launcher(box: Bench, mpirun: str, names: Sequence[str]) -> Pod:
    hosts = ",".join(f"{name}:1" for name in names)
    options = ("--mpirun", mpirun, "--wait-timeout", "60", "--hosts", hosts)
    return box.agent(box.name("l"), "launcher", *options, "--", "true")


def _peer(box: Bench, peer: str, names: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-m", "bench.world", peer, str(box.key), *names)


GOALS: Mapping[str, Goal] = {
    **{
        f"react-{count}": Goal(
            what=f"last worker ready → mpirun executed, {count} workers",
            beside="the best of the peers' waits",
            aims=(Aim(most=0.04), Aim(figure=RATIO, most=0.1)),
            run=react(count, peers),
        )
        for count, peers in ((4, _ALL), (64, _QUICK))
    },
    "wait-64": Goal(
        what="start of the launcher → mpirun executed, 64 ready workers",
        beside="the quicker of sequential paramiko and parallel `ssh true`",
        aims=(Aim(figure=RATIO, most=0.10),),
        run=all_ready(64),
    ),
}
