"""Run the benchmarks: `python -m bench [-n PAIRS] [NAME …]`; needs root, Open MPI and OpenSSH."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.pods import bench
from bench.rounds import BENCHMARKS, OURS, THEIRS, Figures


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Run one benchmark: a warm-up, then the counted rounds, each with its baseline in it."""
    one = BENCHMARKS[name]
    load = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as directory, bench(Path(directory)) as box:
        counted = [one.run(box) for _ in range(rounds if one.apart else rounds + 1)]
        counted = counted[-rounds:]
    load.append(os.getloadavg()[0])
    return {
        "name": name,
        "what": one.what,
        "beside": one.beside,
        "aim": one.aim,
        "rounds": rounds,
        "unit": one.unit,
        "load": [round(value, 2) for value in load],
        "figures": {key: spread(values) for key, values in _columns(counted).items()},
    }


def _columns(counted: Sequence[Figures]) -> dict[str, list[float]]:
    """Turn rounds into one list for each figure; compare with the baseline round by round."""
    columns = {key: [one[key] for one in counted] for key in counted[0]}
    if THEIRS in columns:
        columns["difference"] = [one[OURS] - one[THEIRS] for one in counted]
        columns["ratio"] = [one[OURS] / one[THEIRS] for one in counted]
    return columns


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Give median, extremes and the values themselves."""
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
        "values": [round(value, 4) for value in values],
    }


def show(result: dict[str, Any]) -> None:
    """Print one benchmark's figures."""
    load = result["load"]
    beside = f"; baseline: {result['beside']}" if result["beside"] else ""
    print(f"{result['name']}: {result['what']}{beside}")
    print(
        f"  aim: {result['aim']}; {result['rounds']} rounds, {os.cpu_count()} CPUs,"
        f" load {load[0]} to {load[1]}"
    )
    for key, figure in result["figures"].items():
        unit = " " if key == "ratio" else result["unit"]
        print(
            f"  {key:<28} {figure['median']:8.3f} {unit}"
            f"  [{figure['min']:.3f} to {figure['max']:.3f}]"
        )
    sys.stdout.flush()


def _meant(name: str) -> list[str]:
    """Return the benchmarks of a name: `leases` means all of its sizes."""
    return [one for one in BENCHMARKS if one == name or one.startswith(f"{name}-")]


def main() -> int:
    """Measure what was asked for, print a table, keep the figures as JSON."""
    made = argparse.ArgumentParser("python -m bench", description=__doc__)
    made.add_argument("-n", type=int, default=5, metavar="ROUNDS", help="counted (default 5)")
    made.add_argument("--out", default=".artifacts/bench.json", metavar="FILE")
    made.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    chosen = made.parse_args()
    unknown = [name for name in chosen.names if not _meant(name)]
    if unknown:
        made.error(f"no benchmark {', '.join(unknown)}")
    if chosen.n < 1:
        made.error("at least one round is needed")
    if os.geteuid() != 0:
        made.error("pods are namespaces: run as root")
    results = []
    usual = [name for name, one in BENCHMARKS.items() if not one.apart]
    wanted = [one for name in chosen.names for one in _meant(name)]
    for one in wanted or usual:
        results.append(measure(one, chosen.n))
        show(results[-1])
    out = Path(chosen.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    document = {"cpus": os.cpu_count(), "benchmarks": results}
    out.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
