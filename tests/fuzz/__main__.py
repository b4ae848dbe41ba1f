"""Run one target: `python -m tests.fuzz TARGET --seconds N [--seed S]`; findings go to .build/fuzz."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import sys
import time
from pathlib import Path
from typing import NoReturn

import atheris

from tests.fuzz import TARGETS

WORK = Path(__file__).parents[2] / ".build" / "fuzz"
ONE_S = 5.0  # of CPU time, for one input of at most LONGEST bytes
LONGEST = 8192
MEMORY_MB = 1024


def main() -> NoReturn:
    """Fuzz for so many seconds; ends with 77 where an input broke the target, and names its file."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--work", type=Path, default=WORK, help="where corpus and findings go")
    told = parser.parse_args()
    with atheris.instrument_imports(include=["mpiboot"]):
        target = importlib.import_module(f"tests.fuzz.{told.target}")

    def judge(data: bytes) -> None:
        begun = time.process_time()
        target.judge(data)
        used_s = time.process_time() - begun
        assert used_s < ONE_S, f"{used_s:.1f} s for one input"

    corpus: Path = told.work / told.target
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in target.SEEDS:
        (corpus / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
    words = [
        sys.argv[0], f"-max_total_time={told.seconds}", f"-max_len={LONGEST}", "-print_final_stats=1",
        f"-rss_limit_mb={MEMORY_MB}", "-timeout=30", f"-seed={told.seed}", "-verbosity=1",
        f"-artifact_prefix={told.work}/{told.target}-", str(corpus),
    ]  # fmt: skip
    atheris.Setup(words, judge)
    atheris.Fuzz()
    sys.exit(0)


if __name__ == "__main__":
    main()
