"""What stands in examples/monitoring, read.

`python -m tests.helpers.monitoring` renews what follows from the alerts: the operator's form of them,
and their table in docs/monitoring.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "monitoring"
ALERTS = EXAMPLES / "alerts.yaml"
OPERATORS = EXAMPLES / "prometheusrule.yaml"
DASHBOARD = EXAMPLES / "grafana-dashboard.json"
SCRAPES = EXAMPLES / "prometheus.yaml"
PAGE = ROOT / "docs" / "monitoring.md"
BEGIN, END = "<!-- alerts -->\n", "<!-- /alerts -->"

_OPERATORS_HEAD = """\
# The alerts of alerts.yaml for the Prometheus operator. Made of that file: change it there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: mpiboot
  labels:
    release: prometheus # what the operator's `ruleSelector` looks for
spec:
"""


def alerts() -> list[dict[str, Any]]:
    """Return all alerts, in order."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    document: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return document


def metrics_of(text: str) -> set[str]:
    """Name the metrics that queries speak of."""
    return set(re.findall(r"\bmpiboot_\w+", text))


def operators_form() -> str:
    """Return the alerts as a PrometheusRule."""
    groups = ALERTS.read_text().partition("groups:\n")[2]
    lines = ["  groups:", *(f"  {line}" if line else "" for line in groups.splitlines())]
    return _OPERATORS_HEAD + "\n".join(lines) + "\n"


def table() -> str:
    """Return the alerts as a table, for their page."""
    lines = ["| alert | severity | after | it says | look at |", "|---|---|---|---|---|"]
    for one in alerts():
        notes = one["annotations"]
        said = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"*\1*", notes["summary"])
        said = re.sub(r"\{\{ \$value \}\}", "*N*", said)
        where = notes["runbook"].removeprefix("docs/")
        cells = (f"`{one['alert']}`", one["labels"]["severity"], one.get("for", "at once"), said)
        lines.append(f"| {' | '.join(cells)} | [{where}]({where}) |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both anew."""
    OPERATORS.write_text(operators_form())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
