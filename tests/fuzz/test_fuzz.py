"""Each fuzz target holds for its seeds, and for some seconds of what a fuzzer makes of them."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import TARGETS
from tests.helpers.quickly import quickly

SECONDS = 5
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_for_its_seeds(name: str) -> None:
    """Real texts, whole and cut in two, are judged well, and soon."""
    target = importlib.import_module(f"tests.fuzz.{name}")
    with quickly():
        for seed in target.SEEDS:
            for text in (seed, seed[: len(seed) // 2], seed[len(seed) // 2 :]):
                target.judge(text)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_while_it_is_fuzzed(name: str, tmp_path: Path) -> None:
    """No input that is found in some seconds breaks it; `make fuzz` takes longer."""
    if importlib.util.find_spec("atheris") is None:
        version = ".".join(map(str, sys.version_info[:2]))
        pytest.skip(
            f"NOTHING IS FUZZED HERE: atheris has no wheel for Python {version} on this machine"
        )
    argv = [sys.executable, "-m", "tests.fuzz", name, "--seconds", str(SECONDS), "--seed", "1"]
    done = subprocess.run(
        [*argv, "--work", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "number_of_executed_units" in done.stderr
