"""Run the benchmarks: `python -m bench [-n PAIRS] [--keep] [NAME …]`; needs root and OpenSSH."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import kept
from bench.figures import NOISY, changes, summary
from bench.goal import DIFFERENCE, RATIO
from bench.pods import bench
from bench.registry import GOALS, meant

_OUT = Path(".artifacts/bench")


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Run one goal: a warm-up, then the counted rounds, each with its baseline in it."""
    goal = GOALS[name]
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as directory, bench(Path(directory)) as box:
        counted = [goal.run(box) for _ in range(rounds if goal.apart else rounds + 1)]
    load.append(os.getloadavg()[0])
    return {
        "name": name,
        "what": goal.what,
        "beside": goal.beside,
        "unit": goal.unit,
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in load],
        **summary(counted[-rounds:], goal.aims),
    }


def show(result: Mapping[str, Any], old: Mapping[str, Any] | None) -> None:
    """Print one goal's figures, and how they differ from those that were kept."""
    beside = f"; baseline: {result['beside']}" if result["beside"] else ""
    low, high = result["load"]
    print(f"{result['name']}: {result['what']}{beside}")
    print(f"  {result['rounds']} rounds, {result['cpus']} CPUs, load {low} to {high}")
    for key, figure in result["figures"].items():
        unit = " " if key == RATIO or (key == DIFFERENCE and not result["unit"]) else result["unit"]
        low, high = figure["min"], figure["max"]
        print(f"  {key:<34} {figure['median']:9.4g} {unit}  [{low:.4g} to {high:.4g}]")
    for aim in result["aims"]:
        print(f"  {'met' if aim['met'] else 'MISSED'}: {aim['figure']} ≤ {aim['most']:g}")
    if result["noisy"]:
        print(f"  TOO NOISY: p90 / p10 is {result['noise']}, more than {NOISY:g}: measure again")
    for line in changes(result, old) if old else ():
        print(f"  {line}")
    sys.stdout.flush()


def main() -> int:
    """Measure what was asked for, print a table, keep the figures as JSON and SVG."""
    made = argparse.ArgumentParser("python -m bench", description=__doc__)
    made.add_argument("-n", type=int, default=9, metavar="ROUNDS", help="counted (default 9)")
    made.add_argument("--out", type=Path, default=_OUT, metavar="DIRECTORY")
    made.add_argument("--keep", action="store_true", help="as the figures to compare with")
    made.add_argument("--list", action="store_true", help="name all goals, measure nothing")
    made.add_argument("names", nargs="*", metavar="NAME", help="a goal, or a family of goals")
    chosen = made.parse_args()
    if chosen.list:
        for name, goal in GOALS.items():
            print(f"{name:<16} {goal.what}" + (" (only when named)" if goal.apart else ""))
        return 0
    try:
        names = meant(chosen.names)
    except ValueError as error:
        made.error(str(error))
    if chosen.n < 1:
        made.error("at least one round is needed")
    if os.geteuid() != 0:
        made.error("pods are namespaces: run as root")
    return _run(names, chosen)


def _run(names: list[str], chosen: argparse.Namespace) -> int:
    """Measure goal by goal; one that breaks does not take the others along."""
    results, broken = [], 0
    for name in names:
        try:
            results.append(measure(name, chosen.n))
        except (
            OSError,
            RuntimeError,
            subprocess.SubprocessError,
        ) as error:  # TimeoutError is an OSError
            broken += 1
            print(f"{name}: BROKEN: {error}")
            continue
        show(results[-1], kept.read(kept.FIGURES, name))
        kept.write(chosen.out, results[-1])
    if chosen.keep:
        kept.keep([one for one in results if not one["noisy"]], list(GOALS))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
