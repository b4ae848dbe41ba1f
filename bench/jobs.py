"""Whole jobs, all workers ready: the launcher's agent, its own start included, and bare mpirun."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.pods import AGENT, Bench, end, whole
from bench.usage import account
from mpiboot.local.cluster import Pod

_HERE = Path(__file__).parent
_MPICH = Path(os.environ.get("MPIBOOT_TEST_MPI", _HERE.parent / ".mpi")) / "mpich"
# What the usual manifests and images give mpirun.
_USUAL = ("--bind-to", "none", "--map-by", "slot", "--mca", "pml", "ob1", "--mca", "btl", "^openib")
_BARE = "bare mpirun over stock sshd and ssh"

Program = Callable[[Bench], tuple[str, ...]]


def allreduce(box: Bench) -> tuple[str, ...]:
    """Compile the MPI program, once for a goal."""
    made = box.directory / "allreduce"
    if not made.exists():
        source = str(_HERE / "programs/allreduce.c")
        subprocess.run(["mpicc", "-O2", "-o", str(made), source], check=True)
    return (str(made),)


def hostname(_box: Bench) -> tuple[str, ...]:
    """Return a program that is no MPI program."""
    return ("hostname",)


def job(count: int, program: Program) -> Callable[[Bench], Figures]:
    """Time a whole job of Open MPI on so many ready workers, both ways."""

    def run(box: Bench) -> Figures:
        words = program(box)
        plain, workers, here = (
            box.plain_sshds(count),
            box.workers(count),
            box.bystander(box.name("l")),
        )
        hostfile = _file(box, "".join(f"{pod.name} slots=1\n" for pod in plain))
        line = (
            "mpirun", "--allow-run-as-root", "--hostfile", hostfile, "-np", str(count), *_USUAL,
            "--mca", "plm_rsh_args", " ".join(box.ssh_options), *words,
        )  # fmt: skip
        cpu: dict[str, float] = {}
        ours, theirs = box.pair(
            lambda: _launched(box, here, workers, *words, cpu=cpu),
            lambda: _spent(cpu, THEIRS, here, line),
        )
        end([*plain, *workers, here])
        return {OURS: ours, THEIRS: theirs, **cpu}

    return run


def hydra(count: int, program: Program) -> Callable[[Bench], Figures]:
    """Time a whole job of MPICH's Hydra on so many ready workers, both ways."""

    def run(box: Bench) -> Figures:
        if not (_MPICH / "bin/mpiexec.hydra").exists():
            raise RuntimeError(f"there is no MPICH in {_MPICH}: run .ci/mpis")
        words = program(box)
        path = f"{_MPICH}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        plain, workers = box.plain_sshds(count), box.workers(count, env={"PATH": path})
        here = box.bystander(box.name("l"))
        ssh = box.directory / box.name("ssh")
        ssh.write_text(f'#!/bin/sh\nexec ssh {" ".join(box.ssh_options)} "$@"\n')
        ssh.chmod(0o755)
        line = (
            str(_MPICH / "bin/mpiexec.hydra"), "-launcher", "ssh", "-launcher-exec", str(ssh),
            "-f", _file(box, "".join(f"{pod.name}:1\n" for pod in plain)), "-n", str(count), *words,
        )  # fmt: skip
        home = ("--mpi-home", str(_MPICH))
        ours, theirs = box.pair(
            lambda: _launched(box, here, workers, *words, options=home), lambda: whole(here, line)
        )
        end([*plain, *workers, here])
        return {OURS: ours, THEIRS: theirs}

    return run


def _spent(cpu: dict[str, float], whose: str, here: Pod, argv: tuple[str, ...]) -> float:
    """Run a job; note the CPU that it took on the launcher's side, return its seconds."""
    with account(here.name) as taken:
        seconds = whole(here, taken.joined(argv) if taken else argv)
        if taken:
            cpu[f"  … CPU of the launcher's pod: {whose}"] = taken.cpu_s()
    return seconds


def _launched(
    box: Bench,
    here: Pod,
    workers: list[Pod],
    *words: str,
    options: tuple[str, ...] = (),
    cpu: dict[str, float] | None = None,
) -> float:
    """Time a job through the launcher; workers leave with the job, outside the clock."""
    env = ("env", f"MPIBOOT_SECRET_FILE={box.secret}")
    hosts = ",".join(f"{pod.name}:1" for pod in workers)
    argv = (*env, *AGENT, "launcher", *options, "--hosts", hosts, "--", *words)
    seconds = _spent({} if cpu is None else cpu, OURS, here, argv)
    for pod in workers:
        pod.wait(30)
    return seconds


def _file(box: Bench, text: str) -> str:
    path = box.directory / box.name("hosts")
    path.write_text(text)
    return str(path)


def _goals(name: str, what: str, program: Program, most: Mapping[int, float]) -> dict[str, Goal]:
    return {
        f"{name}-{count}": Goal(
            what=f"whole job of {what}, {count} ready workers",
            beside=_BARE,
            aims=(Aim(figure=RATIO, most=bound),),
            run=job(count, program),
        )
        for count, bound in most.items()
    }


GOALS: Mapping[str, Goal] = {
    **_goals("hostname", "`hostname`", hostname, {4: 0.70, 16: 0.70}),
    **_goals("allreduce", "Init, Allreduce, Finalize", allreduce, {4: 0.30, 16: 0.45}),
    "hydra-4": Goal(
        what="whole job of `hostname` with Hydra, 4 ready workers",
        beside="bare mpiexec.hydra over stock sshd and ssh",
        aims=(Aim(figure=RATIO, most=0.35),),
        run=hydra(4, hostname),
    ),
}
