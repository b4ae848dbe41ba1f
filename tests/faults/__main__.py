"""Run the fault matrix many times: `python -m tests.faults [-n RUNS] [--jobs N] [CELL …]`; `make faults`."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.docker.conftest import ROOT, docker
from tests.docker.test_images import image
from tests.helpers import faultpage, faultruns
from tests.helpers.faultpage import Run
from tests.helpers.faults import BY_NAME, MATRIX, STACKS

RESULTS = ROOT / ".build" / "faults"
PAGE = ROOT / "docs" / "faults.md"
# The one that its mpirun now and then calls a success is asked twice as often.
TWICE = ("openmpi5", "worker-killed")
# A cell takes up to this much of memory; and of a core, while containers start.
CELL_BYTES = 700 << 20
CELLS_PER_CORE = 2


def main() -> int:
    """Run, record and write the page; 1 when a run was not right."""
    told = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = Path(told.results)
    if not told.append:
        results.write_text("")
    if told.runs:
        _run(told, results)
    runs = faultpage.read(results.read_text())
    Path(told.page).write_text(faultpage.page(runs))
    wrong = sum(bool(run.wrong) for run in runs)
    print(f"{len(runs)} runs, {wrong} not right; see {told.page} and {RESULTS}")  # noqa: T201
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser("make faults ARGS=…", description=__doc__, allow_abbrev=False)
    made.add_argument("cells", nargs="*", choices=[[], *BY_NAME], metavar="CELL")
    made.add_argument("-n", "--runs", type=int, default=10, help="of each cell; 0: only the page")
    made.add_argument("--jobs", type=int, default=_bearable(), help="cells side by side")
    made.add_argument("--stack", action="append", choices=STACKS, help="one of the MPIs")
    made.add_argument("--append", action="store_true", help="keep the runs recorded so far")
    made.add_argument("--results", default=str(RESULTS / "runs.jsonl"), metavar="FILE")
    made.add_argument("--page", default=str(PAGE), metavar="FILE")
    return made.parse_args()


def _bearable() -> int:
    """Tell how many cells this machine bears."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(CELLS_PER_CORE * (os.cpu_count() or 1), free // CELL_BYTES))


def _run(told: argparse.Namespace, results: Path) -> None:
    stacks = told.stack or STACKS
    names = told.cells or [cell.name for cell in MATRIX]
    settings = {stack: _settings(stack, told.jobs) for stack in stacks}
    order = list(_order(stacks, names, told.runs))
    with ThreadPoolExecutor(told.jobs) as pool, results.open("a") as record:
        try:
            begun = [
                pool.submit(faultruns.once, stack, BY_NAME[name], settings[stack])
                for stack, name in order
            ]
            for number, done in enumerate(as_completed(begun), 1):
                run = done.result()
                record.write(run.to_line() + "\n")
                record.flush()
                _tell(f"{number}/{len(order)}", run)
        except KeyboardInterrupt:  # what has begun ends, and removes its containers
            print("stopping: the page will tell of the runs so far", flush=True)  # noqa: T201
            pool.shutdown(cancel_futures=True)


def _order(stacks: Sequence[str], names: Sequence[str], runs: int) -> Iterator[tuple[str, str]]:
    """Go through the matrix again and again, so that what is beside a cell changes."""
    for number in range(2 * runs):
        for name in names:
            for stack in stacks:
                if number < runs or (stack, name) == TWICE:
                    yield stack, name


def _tell(progress: str, run: Run) -> None:
    print(  # noqa: T201
        f"{progress} {run.stack} {run.name}: {run.code} after {run.seconds:.1f} s", *run.wrong,
        sep="\n    ", flush=True,
    )  # fmt: skip
    if run.wrong:
        at = run.at.replace(":", "")[:17]
        place = RESULTS / f"{run.stack}-{run.name}-{at}.txt"
        place.write_text("\n".join([*run.wrong, run.logs]))


def _settings(stack: str, jobs: int) -> dict[str, str]:
    """Tell what a run is made with."""
    said = docker("run", "--rm", "--entrypoint", "mpirun", image(stack, "-test"), "--version")
    words = said.stdout.split("Version:")[-1].split() if stack == "mpich" else said.stdout.split()
    version = words[0] if stack == "mpich" else words[3]
    commit = _git("describe", "--always") or "not a checkout"
    changed = _git("status", "--porcelain", "--", "mpiboot", "images", "entrypoints")
    engine = docker("version", "--format", "{{.Server.Version}}", check=True).stdout.strip()
    return {
        "mpiboot": f"{commit}-dirty" if changed else commit,
        "MPI": f"{faultpage.NAMES[stack].rstrip('45 ')} {version}",
        "machine": f"{os.cpu_count()} cores, Linux {platform.release()}, Docker {engine}",
        "side by side": f"{jobs} cells",
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
