"""The reference of all metrics: docs/metrics.md is made of it."""

from __future__ import annotations

from mpiboot.report.catalogue import every_metric


def markdown() -> str:
    """Render the table of all metrics for the documentation."""
    lines = ["| metric | kind | of | meaning | example of a value |", "|---|---|---|---|---|"]
    for metric in every_metric():
        cells = (
            f"`{metric.name}`",
            metric.kind,
            ", ".join(metric.roles),
            metric.text,
            f"`{metric.example}`",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
