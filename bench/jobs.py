"""Whole jobs, all workers ready: the launcher's agent, its own start included, and bare mpirun."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.pods import AGENT, Bench, end, whole
from bench.usage import account, confined
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
        plain, workers, here = _pods(box, count)
        line = _bare(box, plain, *words)
        cpu: dict[str, float] = {}
        ours, theirs = box.pair(
            lambda: _launched(box, here, workers, *words, cpu=cpu),
            lambda: _spent(cpu, THEIRS, here, line),
        )
        end([*plain, *workers, here])
        return {OURS: ours, THEIRS: theirs, **cpu}

    return run


def _pods(box: Bench, count: int) -> tuple[list[Pod], list[Pod], Pod]:
    """Start stock sshds, workers, and a pod for either launcher."""
    return box.plain_sshds(count), box.workers(count), box.bystander(box.name("l"))


def _bare(box: Bench, plain: Sequence[Pod], *words: str) -> tuple[str, ...]:
    """Return what people type: mpirun with the usual words, and ssh's."""
    hostfile = _file(box, "".join(f"{pod.name} slots=1\n" for pod in plain))
    return (
        "mpirun", "--allow-run-as-root", "--hostfile", hostfile, "-np", str(len(plain)), *_USUAL,
        "--mca", "plm_rsh_args", " ".join(box.ssh_options), *words,
    )  # fmt: skip


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


def narrow(count: int, cpus: float) -> Callable[[Bench], Figures]:
    """Time a whole job of `hostname` whose launcher has a share of a CPU, both ways."""

    def run(box: Bench) -> Figures:
        plain, workers, here = _pods(box, count)
        line = _bare(box, plain, "hostname")
        with confined(here.name, cpus) as room:
            ours, theirs = box.pair(
                lambda: _left(workers, whole(here, room.joined(_agent(box, workers, "hostname")))),
                lambda: whole(here, room.joined(line)),
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
    """Time a job through the launcher."""
    argv = _agent(box, workers, *words, options=options)
    return _left(workers, _spent({} if cpu is None else cpu, OURS, here, argv))


def _agent(
    box: Bench, workers: Sequence[Pod], *words: str, options: tuple[str, ...] = ()
) -> tuple[str, ...]:
    env = ("env", f"MPIBOOT_SECRET_FILE={box.secret}")
    hosts = ",".join(f"{pod.name}:1" for pod in workers)
    return (*env, *AGENT, "launcher", *options, "--hosts", hosts, "--", *words)


def _left(workers: Sequence[Pod], seconds: float) -> float:
    """Wait until the workers have left with the job, outside the clock."""
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
    "narrow-16": Goal(
        what="whole job of `hostname`, 16 ready workers, a launcher that has half a CPU",
        beside=_BARE,
        aims=(Aim(figure=RATIO, most=0.50),),
        run=narrow(16, 0.5),
    ),
    "hydra-4": Goal(
        what="whole job of `hostname` with Hydra, 4 ready workers",
        beside="bare mpiexec.hydra over stock sshd and ssh",
        aims=(Aim(figure=RATIO, most=0.35),),
        run=hydra(4, hostname),
    ),
}
