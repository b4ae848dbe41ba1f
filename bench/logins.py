"""SSH into one worker: many at once, and one after the other, as mpirun's ssh does it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.moments import DEADLINE_S
from bench.pods import Bench, end
from mpiboot.local.cluster import Pod
from mpiboot.plan import sshconf
from mpiboot.plan.layout import Place
from mpiboot.runtime import files, keymaking
from mpiboot.runtime.keys import KeyMaterial, Origin

_MANY = """
for one in $(seq {count}); do
  "$@" </dev/null >/dev/null 2>&1 || echo failed &
done
wait
"""
_ONE_BY_ONE = 8


def simultaneous(count: int) -> Callable[[Bench], Figures]:
    """Count the logins that fail of so many at once into one worker, and into one stock sshd."""

    def run(box: Bench) -> Figures:
        took: dict[str, float] = {}

        def failures(whose: str, words: Sequence[str]) -> float:
            begun = time.monotonic()
            script = ("sh", "-c", _MANY.format(count=count), "sh", *words)
            done = here.exec(script, timeout_s=2 * DEADLINE_S)
            took[f"  … {whose}: seconds"] = time.monotonic() - begun
            return float(done.stdout.count("failed"))

        worker, plain, here = box.workers(1)[0], box.plain_sshds(1)[0], box.bystander(box.name("l"))
        tuned, stock = _tuned(box, worker), ("ssh", *box.ssh_options, plain.name, "true")
        ours, theirs = box.pair(lambda: failures(OURS, tuned), lambda: failures(THEIRS, stock))
        end([worker, plain, here])
        return {OURS: ours, THEIRS: theirs, **took}

    return run


def handshake(box: Bench) -> Figures:
    """Time `ssh host true` with our configuration on both ends, and with stock ones."""
    worker, plain, here = box.workers(1)[0], box.plain_sshds(1)[0], box.bystander(box.name("l"))
    tuned, stock = _tuned(box, worker), ("ssh", *box.ssh_options, plain.name, "true")
    ours, theirs = box.pair(lambda: _median_s(here, tuned), lambda: _median_s(here, stock))
    end([worker, plain, here])
    return {OURS: ours, THEIRS: theirs}


def _median_s(here: Pod, words: Sequence[str]) -> float:
    """Time each of a few logins by a shell in the pod, so that entering the pod is not in it."""
    stamps = "date +%s.%N; " + '"$@" && date +%s.%N || exit; ' * _ONE_BY_ONE
    done = here.exec(("sh", "-c", stamps, "sh", *words), timeout_s=DEADLINE_S)
    at = [float(line) for line in done.stdout.split()]
    if done.returncode or len(at) != _ONE_BY_ONE + 1:
        raise RuntimeError(f"a login failed: {done.stderr[-500:]}")
    return statistics.median(later - sooner for sooner, later in pairwise(at))


def _tuned(box: Bench, worker: Pod) -> tuple[str, ...]:
    """Return ssh as the launcher configures it for mpirun."""
    place = box.directory / box.name("ssh")
    place.mkdir()
    material = _material(box, place)
    host = Place(
        name=worker.name, node=worker.name, slots=1, address=worker.address, port=22, user="", why=""
    )  # fmt: skip
    known, config = place / "known_hosts", place / "config"
    files.write(known, sshconf.known_hosts(material.host_publics, (host,)))
    text = sshconf.ssh_config(
        (host,), user="root", port=22, identity=material.identity, known_hosts=str(known)
    )
    files.write(config, text)
    return ("ssh", "-F", str(config), worker.name, "true")


def _material(box: Bench, place: Path) -> KeyMaterial:
    secret = Origin(secret=box.secret.read_text().strip(), what="the benchmark's secret")
    return keymaking.prepare(secret, place)


GOALS: Mapping[str, Goal] = {
    "logins-200": Goal(
        what="logins that fail of 200 at once into one worker",
        beside="stock sshd and ssh",
        aims=(Aim(most=0),),
        run=simultaneous(200),
        unit="",
    ),
    "handshake": Goal(
        what="`ssh host true` with the configuration of mpirun's ssh, median of 8",
        beside="stock sshd and ssh",
        aims=(Aim(figure=RATIO, most=0.70),),
        run=handshake,
    ),
}
