"""Record what a Prometheus sees of real jobs: `python -m tests.recorded [SCENE …]`; needs root.

Takes seven minutes, however many scenes. Each becomes tests/recorded/SCENE.yaml, in the notation of
`promtool test rules`, with the series that the alerts look at. Time begins at zero there, as it does
in promtool: that is why the recorded mpiboot_end_time_seconds are put back by the time of the start.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import re
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from mpiboot.local.cluster import Cluster
from tests.helpers.agents import Agents
from tests.helpers.prometheus import Prometheus
from tests.helpers.scenes import SCENES, Stage

HERE = Path(__file__).parent
RULES = HERE.parents[1] / "examples" / "monitoring" / "alerts.yaml"
INTERVAL_S = 5
_TIMES = "mpiboot_end_time_seconds"
_DIGITS = 6


def main() -> None:
    """Play all scenes at once and write what was seen of each."""
    made = argparse.ArgumentParser("python -m tests.recorded", description=__doc__)
    made.add_argument("scenes", nargs="*", choices=[[], *SCENES], metavar="SCENE")
    chosen = made.parse_args().scenes or list(SCENES)
    # A cgroup can be removed only when its pods have ended: the cluster is closed first.
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack, Cluster() as cluster:
        agents = Agents(cluster, Path(directory))
        stage = Stage(agents=agents, directory=Path(directory), stack=stack)
        names = [f"{job}-{end}" for job in chosen for end in ("launcher", "worker-1", "worker-2")]
        prometheus = Prometheus(agents, Path(directory), names, interval_s=INTERVAL_S)
        begun = time.time()  # noqa: TID251 - Prometheus' samples have this clock
        spans = _play(stage, chosen)
        _check(prometheus, max(spans.values()))
        for job in chosen:
            _write(job, _recorded(prometheus, job, begun, spans[job]))


def _play(stage: Stage, jobs: Sequence[str]) -> dict[str, float]:
    """Play scenes to their end; return how long each has lasted, in seconds."""
    begun = time.monotonic()
    turn = itertools.count()  # generators cannot be compared
    due = [(begun, next(turn), job, SCENES[job](stage)) for job in jobs]
    spans: dict[str, float] = {}
    while due:
        at, _, job, scene = heapq.heappop(due)
        time.sleep(max(0.0, at - time.monotonic()))
        try:
            heapq.heappush(due, (time.monotonic() + next(scene), next(turn), job, scene))
        except StopIteration:
            spans[job] = time.monotonic() - begun
            codes = stage.agents.codes().items()
            ended = ", ".join(f"{pod} {code}" for pod, code in codes if pod.startswith(job))
            print(ended, flush=True)  # noqa: T201
    return spans


def _check(prometheus: Prometheus, span_s: float) -> None:
    """Refuse a recording with holes: this machine was too busy, or its clock was set."""
    (own,) = prometheus.query('up{instance="pushgateway:9091"}[1h]')
    times = [at for at, _ in own["values"]]
    widest = max(after - before for before, after in itertools.pairwise(times))
    if widest > 1.5 * INTERVAL_S or times[-1] - times[0] < span_s - 2 * INTERVAL_S:
        raise SystemExit(f"nothing was written: scrapes are up to {widest:.0f} s apart; try again")


def _recorded(
    prometheus: Prometheus, job: str, begun: float, span_s: float
) -> list[tuple[str, str]]:
    """Return series and values of a job, in promtool's notation."""
    wanted = "|".join(sorted(set(re.findall(r"mpiboot_\w+", RULES.read_text()))))
    found = prometheus.query(f'{{__name__=~"{wanted}",job="{job}"}}[1h]')
    series = []
    for one in found:
        name = one["metric"].pop("__name__")
        labels = ",".join(f'{key}="{value}"' for key, value in sorted(one["metric"].items()))
        back = begun if name == _TIMES else 0.0
        slots = {
            round((at - begun) / INTERVAL_S): float(value) - back
            for at, value in one["values"]
            if begun <= at < begun + span_s
        }
        series.append((f"{name}{{{labels}}}", notation(slots, int(span_s / INTERVAL_S))))
    return sorted(series)


def notation(slots: dict[int, float], count: int) -> str:
    """Write samples as promtool reads them, equal ones once; a series that is gone is stale, then `_`.

    Args:
        slots: value of each scrape that has one, by its number.
        count: of all scrapes.
    """
    known: list[str] = []
    for slot in range(count):
        if slot in slots:
            known.append(f"{round(slots[slot], _DIGITS):.12g}")
        else:
            known.append("stale" if slot - 1 in slots else "_")
    return " ".join(_run(word, len(list(group))) for word, group in itertools.groupby(known))


def _run(word: str, times: int) -> str:
    if times == 1:
        return word
    return f"_x{times}" if word == "_" else f"{word}+0x{times - 1}"


def _write(job: str, series: Iterable[tuple[str, str]]) -> None:
    told = (SCENES[job].__doc__ or "").strip()
    lines = [
        f"# {told}",
        "# Recorded from a real job; renewed by `python -m tests.recorded`.",
        f"interval: {INTERVAL_S}s",
        "input_series:",
    ]
    for name, values in series:
        lines += [f"  - series: '{name}'", f"    values: '{values}'"]
    (HERE / f"{job}.yaml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
