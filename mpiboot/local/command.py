"""Run a job on pods of this machine: the command `mpiboot local`."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mpiboot.local.cluster import Bind, Cluster, Pod, PodSpec
from mpiboot.local.watch import Watch
from mpiboot.local.window import Window
from mpiboot.log import logger
from mpiboot.runtime import latch

SECRET_IN_POD = "/run/secrets/mpiboot"  # noqa: S105 - a path
# Pods share this machine's /tmp, and their PIDs and hostnames repeat: so would the names of MPI's
# session directories there, among jobs that run at the same time.
TMP_IN_POD = "/run/tmp"
LEAVE_S = 10.0  # for workers to leave by themselves once the launcher has ended
TERM_S = 5.0  # for those that had to be asked
# Whatever a platform has laid down for this machine: pods of ours are reached by ssh.
BY_SSH = "--rsh-agent="
_PASSED_ON = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


def run_local(
    *,
    workers: int,
    slots: int,
    command: Sequence[str],
    agent: Sequence[str],
    launcher_options: Sequence[str],
    environment: Mapping[str, str],
    secret: str,
    page_port: int = 0,
) -> int:
    """Run `command` on pods `worker-0` to `worker-(workers-1)`, started from a pod `launcher`.

    stdout is the launcher pod's alone. TERM, INT, HUP and QUIT go to the launcher's PID 1. Workers
    have LEAVE_S to leave after it has ended, then they are asked, then killed.

    Args:
        workers: number of worker pods, at least 1.
        slots: slots of each; 0: not said, the launcher's own default holds.
        command: what the launcher runs.
        agent: argv that starts mpiboot, without a role.
        launcher_options: options of the role `launcher`.
        environment: of all pods.
        secret: the job's secret; handed over in a file, not in the environment.
        page_port: where the launcher serves the job's page in its pod; 0: it does not.

    Returns:
        The launcher pod's exit code, 128 + n when its PID 1 died of signal n.

    Raises:
        ConfigError: this process may not make namespaces.
        LaunchFailedError: a pod could not be made.
    """
    names = [f"worker-{number}" for number in range(workers)]
    hosts = ",".join(f"{name}:{slots}" if slots else name for name in names)
    launch = [*agent, "launcher", "--hosts", hosts, BY_SSH, *launcher_options, "--", *command]
    with Cluster() as cluster, Watch() as watch:
        binds = (_keep_secret(cluster.directory, secret),)
        specs = [_spec(name, [*agent, "worker", BY_SSH], environment, binds) for name in names]
        crew = [_start_worker(cluster, watch, spec) for spec in specs]
        launcher = cluster.spawn(_spec("launcher", launch, environment, binds), stdin=None)
        for pod in (*crew, launcher):
            watch.end(pod.up())
        with _page(launcher, page_port):
            code = _follow(watch, launcher)
        _dismiss(watch, crew)
        watch.drain()
    return code


@contextlib.contextmanager
def _page(launcher: Pod, port: int) -> Iterator[None]:
    """Show the job's page on this machine's loopback; a machine that lets us not has none."""
    window = None
    if port:
        with contextlib.suppress(OSError):
            window = Window(launcher, port)
            logger.info("the job's page: %s", window.url)
    try:
        yield
    finally:
        if window is not None:
            window.close()


def _keep_secret(directory: Path, secret: str) -> Bind:
    path = directory / "secret"
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secret)
    return Bind(source=str(path), target=SECRET_IN_POD, read_only=True)


def _spec(
    name: str, argv: Sequence[str], environment: Mapping[str, str], binds: tuple[Bind, ...]
) -> PodSpec:
    own = {"MPIBOOT_SECRET_FILE": SECRET_IN_POD, "HOSTNAME": name, "TMPDIR": TMP_IN_POD}
    # Blocked until the agent's latch is in place: PID 1 would lose a TERM that comes before.
    return PodSpec(
        name=name,
        argv=tuple(argv),
        env={**environment, **own},
        tmpfs=(f"{TMP_IN_POD}:mode=1777",),
        binds=binds,
        blocked=latch.CAUGHT,
    )


def _start_worker(cluster: Cluster, watch: Watch, spec: PodSpec) -> Pod:
    read, write = os.pipe()
    watch.output(spec.name, read)
    try:
        return cluster.spawn(spec, stdout=write, stderr=subprocess.STDOUT)
    finally:
        os.close(write)


def _follow(watch: Watch, launcher: Pod) -> int:
    """Pass signals on until the launcher pod has ended; return its code."""
    while (code := launcher.poll()) is None:
        for number in _take_signals():
            launcher.send(number)
        watch.wait()
    return code


def _take_signals() -> list[int]:
    taken = []
    while latch.received:
        number = latch.received.pop(0)
        if number in _PASSED_ON:
            taken.append(number)
    return taken


def _dismiss(watch: Watch, crew: list[Pod]) -> None:
    """See the workers off: wait, ask, kill; a signal to us ends the patience."""
    if _all_left(watch, crew, LEAVE_S):
        return
    for pod in crew:
        pod.send(signal.SIGTERM)
    if _all_left(watch, crew, TERM_S):
        return
    stuck = [pod for pod in crew if pod.poll() is None]
    for pod in stuck:
        pod.kill()
    for pod in stuck:
        pod.wait()
    names = ", ".join(pod.name for pod in stuck)
    logger.warning("killed %s: still there %g s after TERM", names, TERM_S)


def _all_left(watch: Watch, crew: list[Pod], patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while any(pod.poll() is None for pod in crew):
        left_s = deadline - time.monotonic()
        if left_s <= 0 or _take_signals():
            return False
        watch.wait(left_s)
    return True
