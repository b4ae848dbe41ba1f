"""Alerts fire on series that were recorded of real jobs, each on its own, and on no healthy job's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import monitoring
from tests.helpers.scenes import SCENES

RECORDED = monitoring.ROOT / "tests" / "recorded"
FIRED = 'group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[3h]))'
# All that fires in each recorded scene, from its beginning to its end.
EXPECTED = {
    "healthy": set(),
    "lost": {"JobFailed", "WorkerLost"},
    "silent": {"JobFailed", "WorkerLost", "WorkerSilent"},
    "memory": {"JobFailed", "OutOfMemory", "MemoryNearLimit"},
    "untrue": {"JobFailed", "FalseSuccess"},
    "waiting": {"JobFailed", "WaitingTooLong", "LeaseLost"},
    "again": {"JobRestarted", "LaunchRetried"},
    "besieged": {"SshdRestarted", "LoginsRejected", "WorkerUnused"},
    "orphaned": {"LauncherLost"},
    "stalled": {"JobFailed", "JobStalled"},
    "unheld": {"WorkersWithoutLease"},
}
HOUR_S = 3600
END_TIME = "mpiboot_end_time_seconds"


def recorded(scene: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((RECORDED / f"{scene}.yaml").read_text())
    return document


def promtool(*words: str) -> str:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def replayed(directory: Path, series: dict[str, Any], **expected: Any) -> None:
    """Let promtool evaluate the alerts on some series every five seconds."""
    file = directory / "alerts.test.yaml"
    file.write_text(
        yaml.safe_dump(
            {
                "rule_files": [str(monitoring.ALERTS)],
                "evaluation_interval": series["interval"],
                "tests": [{**series, **expected}],
            }
        )
    )
    promtool("test", "rules", str(file))


def fired(names: set[str]) -> dict[str, Any]:
    """Expect exactly these alerts to have fired in ten minutes, which is longer than any scene."""
    samples = [{"labels": f'{{alertname="Mpiboot{name}"}}', "value": 1} for name in sorted(names)]
    return {"expr": FIRED, "eval_time": "10m", "exp_samples": samples}


def test_promtool_takes_the_alerts() -> None:
    """It finds as many as there are, and no fault."""
    assert f"{len(monitoring.alerts())} rules found" in promtool(
        "check", "rules", str(monitoring.ALERTS)
    )


@pytest.mark.parametrize("scene", SCENES)
def test_what_fires(scene: str, tmp_path: Path) -> None:
    """These alerts and no others, from the scene's beginning to its end."""
    replayed(tmp_path, recorded(scene), promql_expr_test=[fired(EXPECTED[scene])])


def test_each_alert_has_a_scene_and_a_healthy_job_that_it_looked_at() -> None:
    """It fires somewhere, and stays silent on a healthy job though what it looks at is there."""
    names = {one["alert"].removeprefix("Mpiboot") for one in monitoring.alerts()}
    assert set().union(*EXPECTED.values()) == names
    seen = {one["series"].partition("{")[0] for one in recorded("healthy")["input_series"]}
    asked = monitoring.metrics_of(" ".join(one["expr"] for one in monitoring.alerts()))
    assert seen == asked


@pytest.mark.parametrize("scene", SCENES)
def test_a_recording_is_of_its_own_jobs(scene: str) -> None:
    """Nothing that was pushed is older than the scene, or comes before its end."""
    ends = [one for one in recorded(scene)["input_series"] if END_TIME in one["series"]]
    assert ends
    for one in ends:
        before, known = one["values"].split()[:2]
        assert float(known.partition("+")[0]) > 0
        assert re.fullmatch(r"_x\d+", before)


def test_what_it_says(tmp_path: Path) -> None:
    """Whose turn it is, the code and the job stand in the texts, and none of a template is left."""
    replayed(
        tmp_path,
        recorded("memory"),
        alert_rule_test=[
            {
                "eval_time": "165s",
                "alertname": "MpibootJobFailed",
                "exp_alerts": [
                    {
                        "exp_labels": {
                            "severity": "warning",
                            "job": "memory",
                            "instance": "memory-launcher",
                            "fault": "user",
                        },
                        "exp_annotations": {
                            "summary": "MPI job memory failed with exit code 137",
                            "description": (
                                "The program failed: its owner should look. First cause, rank and"
                                " host stand in the termination message of memory-launcher."
                            ),
                            "runbook": "docs/exit-codes.md",
                        },
                    }
                ],
            }
        ],
    )


def test_an_outcome_that_stays_pushed_is_told_for_an_hour(tmp_path: Path) -> None:
    """A Pushgateway keeps it for ever; whoever was told once need not hear of it next week."""
    series = recorded("lost")
    for one in series["input_series"]:
        if 'role="' in one["series"]:
            last, _, _ = one["values"].split()[-1].partition("+")
            one["values"] += f" {last}+0x{2 * HOUR_S // 5}"
    firing = 'group by (alertname) (ALERTS{alertstate="firing"})'
    during = {**fired(EXPECTED["lost"]), "expr": firing, "eval_time": "59m"}
    later = {"expr": firing, "eval_time": "65m", "exp_samples": []}
    replayed(tmp_path, series, promql_expr_test=[during, later])
