"""Metrics in Prometheus' exposition format; the client library is loaded at the first scrape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from mpiboot.model.record import dataclass
from mpiboot.model.spec import BOTH

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """What is known of a metric beside its values; all of them stand in report.catalogue.

    Attributes:
        name: full name with unit; counters end in _total.
        kind: how its values behave.
        text: one sentence; says when it is absent.
        example: of a sample as it is exposed, without the name.
        labels: names of its labels.
        roles: who has it.
    """

    name: str
    kind: Literal["gauge", "counter"]
    text: str
    example: str
    labels: tuple[str, ...] = ()
    roles: tuple[str, ...] = BOTH

    def one(self, value: float) -> Family:
        """Return it with its only value."""
        return Family(metric=self, samples={(): value})

    def by(self, samples: Mapping[str, float]) -> Family:
        """Return it with a value for each value of its only label."""
        return self.each(((key,), value) for key, value in samples.items())

    def each(self, samples: Iterable[tuple[tuple[str, ...], float]]) -> Family:
        """Return it with a value for each choice of its labels' values."""
        return Family(metric=self, samples=dict(samples))

    def state(self, now: str, states: Iterable[str]) -> Family:
        """Return it with 1 for the state of now and 0 for the others."""
        return self.by({one: float(one == now) for one in states})


@dataclass(frozen=True, kw_only=True)
class Family:
    """A metric and its samples, by the values of its labels."""

    metric: Metric
    samples: Mapping[tuple[str, ...], float]


def render(families: Sequence[Family]) -> str:
    """Render the exposition text."""
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - lazy
    from prometheus_client.core import (  # noqa: PLC0415 - lazy
        CounterMetricFamily,
        GaugeMetricFamily,
    )
    from prometheus_client.core import Metric as Exposed  # noqa: PLC0415 - lazy
    from prometheus_client.registry import Collector  # noqa: PLC0415 - lazy

    class _Snapshot(Collector):
        def collect(self) -> Iterable[Exposed]:
            for family in families:
                metric = family.metric
                make = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
                made = make(metric.name, metric.text, labels=metric.labels)
                for labels, value in family.samples.items():
                    made.add_metric(labels, value)
                yield made

    registry = CollectorRegistry()
    registry.register(_Snapshot())
    return generate_latest(registry).decode()
