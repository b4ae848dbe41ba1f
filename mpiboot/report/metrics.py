"""Metrics in Prometheus' exposition format; the client library is loaded at the first scrape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mpiboot.model.outcome import Stage
from mpiboot.report.timeline import Timeline

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Family:
    """One metric: name with unit, kind, help, and its samples by label value.

    Attributes:
        name: full name; counters end in _total.
        label: name of the one label, empty for none.
        samples: label value → value; the key is empty without a label.
    """

    name: str
    kind: Literal["gauge", "counter"]
    text: str
    label: str
    samples: Mapping[str, float]


def gauge(name: str, text: str, value: float) -> Family:
    """Make a gauge without labels."""
    return Family(name=name, kind="gauge", text=text, label="", samples={"": value})


def counter(name: str, text: str, value: float) -> Family:
    """Make a counter without labels."""
    return Family(name=name, kind="counter", text=text, label="", samples={"": value})


def stages(timeline: Timeline) -> Family:
    """Tell how long each stage lasted so far."""
    return Family(
        name="mpiboot_stage_seconds",
        kind="gauge",
        text="Time spent in each stage of this run so far, in seconds.",
        label="stage",
        samples={stage.value: seconds for stage, seconds in timeline.seconds().items()},
    )


def stage_now(timeline: Timeline) -> Family:
    """Tell the stage of now: 1 for it, 0 for the others."""
    return Family(
        name="mpiboot_stage",
        kind="gauge",
        text="1 for the stage that the agent is in, 0 for the others.",
        label="stage",
        samples={stage.value: float(stage is timeline.stage) for stage in Stage},
    )


def render(families: Sequence[Family], version: str, role: str) -> str:
    """Render the exposition text."""
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - lazy
    from prometheus_client.core import (  # noqa: PLC0415 - lazy
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
    )
    from prometheus_client.registry import Collector  # noqa: PLC0415 - lazy

    class _Snapshot(Collector):
        def collect(self) -> Iterable[Metric]:
            info = GaugeMetricFamily(
                "mpiboot_info", "Version and role of this agent.", labels=["version", "role"]
            )
            info.add_metric([version, role], 1)
            yield info
            for family in families:
                labels = [family.label] if family.label else []
                make = GaugeMetricFamily if family.kind == "gauge" else CounterMetricFamily
                made = make(family.name, family.text, labels=labels)
                for key, value in family.samples.items():
                    made.add_metric([key] if labels else [], value)
                yield made

    registry = CollectorRegistry()
    registry.register(_Snapshot())
    return generate_latest(registry).decode()
