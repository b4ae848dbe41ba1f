"""What `horovodrun` and `ssh` get, where the user's command calls them by their names."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.plan.ownargs import Rewritten
from mpiboot.plan.ownjob import Job

# ssh(1): the letters that take a value, as the rest of their word or as the next one.
_SSH_VALUED = "BbcDEeFIiJLlmOopQRSWw"
_HOROVOD_HOSTS = ("-H", "--hosts", "-hostfile", "--hostfile", "--host-discovery-script")
_HOROVOD_RANKS = ("-np", "--num-proc")
_HOROVOD_ELASTIC = ("--min-np", "--min-num-proc", "--max-np", "--max-num-proc")
_HOROVOD_QUESTIONS = ("-v", "--version", "-h", "--help", "-cb", "--check-build")
# Options of horovodrun 0.28.1 without a value; all others but these and `--no-…` take one.
_HOROVOD_BARE = frozenset(
    (
        "--disable-cache", "--verbose", "--hierarchical-allreduce", "--hierarchical-allgather",
        "--torus-allreduce", "--autotune", "--timeline-mark-cycles", "--stall-check",
        "--mpi-threads-disable", "--tcp", "--log-with-timestamp", "--log-without-timestamp",
        "--prefix-output-with-timestamp", "-prefix-timestamp", "--log-hide-timestamp", "--gloo",
        "--mpi", "--jsrun",
    )
)  # fmt: skip


def ssh(args: Sequence[str], job: Job) -> list[str]:
    """Let ssh log in to a worker of this job as mpirun does; other hosts are none of our business.

    A configuration file that the call names itself takes the place of ours.
    """
    if not job.ssh_config:
        return list(args)
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        letters = args[at][1:]
        valued = next((n for n, letter in enumerate(letters) if letter in _SSH_VALUED), None)
        if valued is not None and letters[valued] == "F":
            return list(args)
        at += 1 if valued is None or valued + 1 < len(letters) else 2
    at += args[at : at + 1] == ["--"]
    host = args[at].rpartition("@")[2] if at < len(args) else ""
    nodes = {name for name, _ in job.hosts}
    if host in nodes:
        return ["-F", job.ssh_config, *args]
    if host in job.names:
        user, at_sign, _ = args[at].rpartition("@")
        return [
            "-F",
            job.ssh_config,
            *args[:at],
            f"{user}{at_sign}{job.names[host]}",
            *args[at + 1 :],
        ]
    return list(args)


def horovodrun(args: Sequence[str], job: Job) -> Rewritten:
    """Give horovodrun the workers, and the number of ranks, where the user gives no workers."""
    flags = _horovod_flags(args)
    if not args or flags.intersection((*_HOROVOD_QUESTIONS, *_HOROVOD_HOSTS)):
        return Rewritten(args=tuple(args))
    if job.discovery and flags.intersection(_HOROVOD_ELASTIC):
        words = ["--host-discovery-script", job.discovery]
    else:
        words = ["-H", ",".join(f"{name}:{slots}" for name, slots in job.hosts)]
    if not flags.intersection(_HOROVOD_RANKS):
        words += ["-np", str(job.np)]
    note = f"horovodrun {' '.join(words)}: the workers of this job"
    return Rewritten(args=(*words, *args), notes=(note,))


def _horovod_flags(args: Sequence[str]) -> set[str]:
    """Return the options before the program."""
    flags: set[str] = set()
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        flag, glued, _ = args[at].partition("=")
        bare = flag in _HOROVOD_BARE or flag in _HOROVOD_QUESTIONS or flag.startswith("--no-")
        flags.add("-H" if flag.startswith("-H") else flag)
        at += 1 if glued or bare or (flag.startswith("-H") and flag != "-H") else 2
        at += flag == "--blacklist-cooldown-range"
    return flags
