"""Alerts and the dashboard speak of metrics, states and pages that exist, and leave none out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from mpiboot.errors import ExitCode
from mpiboot.model.outcome import Fault, Phase, Stage
from mpiboot.report import catalogue
from tests.helpers import manifests, monitoring
from tests.helpers.manifests import TEXT, array, obj, one_of

# Metrics that no panel shows, each with the reason.
LEFT_OUT: dict[str, str] = {}
KNOWN = {metric.name: metric for metric in catalogue.every_metric()}
STATES: dict[str, set[str]] = {"stage": {*Stage}, "phase": {*Phase}, "fault": {*Fault}}
# The options that a panel must have and those that it may, by @grafana/schema 13.2.3.
PANELS = {
    "timeseries": ("legend tooltip", "orientation timezone"),
    "state-timeline": ("legend rowHeight showValue tooltip", "alignValue mergeValues perPage"),
    "table": ("frameIndex showHeader", "cellHeight enablePagination sortBy"),
    "stat": (
        (
            "colorMode graphMode justifyMode orientation percentChangeColorMode reduceOptions"
            " showPercentChange textMode wideLayout"
        ),
        "text",
    ),
    "bargauge": (
        (
            "displayMode legend maxVizHeight minVizHeight minVizWidth namePlacement orientation"
            " reduceOptions showUnfilled sizing valueMode"
        ),
        "text",
    ),
}
RULE = obj(
    "alert", "expr", "labels", "annotations",
    alert={"type": "string", "pattern": "^Mpiboot[A-Z][A-Za-z]+$"},
    expr=TEXT,
    labels=obj("severity", severity=one_of("critical", "warning", "info")),
    annotations=obj("summary", "description", "runbook", summary=TEXT, description=TEXT, runbook=TEXT),
    **{"for": {"type": "string", "pattern": "^[0-9]+[smh]$"}},
)  # fmt: skip
GROUPS = obj("groups", groups=array(obj("name", "rules", name=TEXT, rules=array(RULE))))


def targets() -> list[tuple[str, str]]:
    """List title and query of each target of the dashboard."""
    return [
        (panel["title"], target["expr"])
        for panel in monitoring.dashboard()["panels"]
        for target in panel.get("targets", ())
    ]


def queries() -> list[str]:
    """List each query of alerts and dashboard."""
    return [one["expr"] for one in monitoring.alerts()] + [expr for _, expr in targets()]


def test_metrics_exist() -> None:
    """Each metric of each query is in the catalogue, with each label that is asked for."""
    for query in queries():
        assert monitoring.metrics_of(query) <= set(KNOWN), query
        for name, matchers in re.findall(r"(mpiboot_\w+)\{([^}]*)\}", query):
            asked = set(re.findall(r"(\w+)[!=]~?\"", matchers)) - {"job", "instance"}
            assert asked <= set(KNOWN[name].labels), query


def test_states_exist() -> None:
    """Each stage, phase, fault and exit code that a query names is one."""
    for query in queries():
        for label, value in re.findall(r"(stage|phase|fault)[!=]~?\"([^\"]*)\"", query):
            assert set(value.split("|")) <= STATES[label], query
        for code in re.findall(r"exit_code == (\d+)", query):
            assert ExitCode(int(code))


def test_the_dashboard_shows_every_metric() -> None:
    """A metric that no panel shows stands in the list of those, with a reason."""
    shown = set().union(*(monitoring.metrics_of(query) for _, query in targets()))
    assert shown | set(LEFT_OUT) == set(KNOWN)
    assert not shown & set(LEFT_OUT)


def test_alerts_are_whole() -> None:
    """Name, severity, texts and a page to look at, and no field that Prometheus does not know."""
    document = yaml.safe_load(monitoring.ALERTS.read_text())
    jsonschema.validate(document, GROUPS)
    names = [one["alert"] for one in monitoring.alerts()]
    assert len(set(names)) == len(names)
    for one in monitoring.alerts():
        assert one["annotations"]["summary"].count("{{ $labels.") >= 1, one["alert"]


def test_the_operators_form_is_that_of_the_alerts() -> None:
    """Renew it with `python -m tests.helpers.monitoring`."""
    text = monitoring.OPERATORS.read_text()
    assert text == monitoring.operators_form()
    document = yaml.safe_load(text)
    jsonschema.validate(
        document, manifests.kind("monitoring.coreos.com/v1", "PrometheusRule", GROUPS)
    )
    assert document["spec"] == yaml.safe_load(monitoring.ALERTS.read_text())


def test_the_page_has_the_alerts() -> None:
    """Renew it with `python -m tests.helpers.monitoring`."""
    page = monitoring.PAGE.read_text()
    assert page.partition(monitoring.BEGIN)[2].partition(monitoring.END)[0] == monitoring.table()


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as its host makes them."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("alert", monitoring.alerts(), ids=lambda one: one["alert"])
def test_what_to_look_at_exists(alert: dict[str, Any]) -> None:
    """Page and heading of each alert are there."""
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    text = (monitoring.ROOT / page).read_text()
    assert not anchor or anchor in anchors(text)


def test_pods_are_scraped_under_the_labels_that_they_push() -> None:
    """Of the Pushgateway the agents' own labels count."""
    document = yaml.safe_load(monitoring.SCRAPES.read_text())
    by_name = {one["job_name"]: one for one in document["scrape_configs"]}
    assert by_name["pushgateway"]["honor_labels"] is True
    relabelled = {
        one.get("target_label") for one in by_name["mpiboot-pods"]["relabel_configs"]
    }  # fmt: skip
    assert {"job", "instance", "namespace", "__address__"} <= relabelled


# The dashboard, as Grafana's reference of its JSON model has it.


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = monitoring.dashboard()["panels"]
    return found


def test_panels_can_be_drawn() -> None:
    """Kinds that each Grafana has, numbers that are unique, texts, and queries by the chosen source."""
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
    for panel in panels():
        assert panel["title"]
        if panel["type"] == "row":
            assert panel["panels"] == []
            continue
        required, optional = (set(names.split()) for names in PANELS[panel["type"]])
        assert required <= set(panel["options"]) <= required | optional, panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["targets"]
        assert set(panel["fieldConfig"]) == {"defaults", "overrides"}
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs)
        for target in (panel, *panel["targets"]):
            assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["instant"] is not target["range"]
            assert (target.get("format") == "table") == (panel["type"] == "table")


def cells(panel: dict[str, Any]) -> Iterator[tuple[int, int]]:
    at = panel["gridPos"]
    for x in range(at["x"], at["x"] + at["w"]):
        for y in range(at["y"], at["y"] + at["h"]):
            yield x, y


def test_panels_do_not_overlap() -> None:
    """The grid has 24 columns, and each cell one panel."""
    taken = [set(cells(panel)) for panel in panels()]
    assert all(0 <= x < 24 for cell in taken for x, _ in cell)
    assert not any(one & other for one, other in combinations(taken, 2))


def test_variables_choose_source_job_and_agent() -> None:
    """Each query is bound to the chosen job; none names a data source of its own."""
    document = monitoring.dashboard()
    variables = {one["name"]: one for one in document["templating"]["list"]}
    assert list(variables) == ["datasource", "job", "instance"]
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    for name in ("job", "instance"):
        assert variables[name]["datasource"]["uid"] == "${datasource}"
        assert variables[name]["includeAll"] is variables[name]["multi"] is True
    for title, query in targets():
        for matchers in re.findall(r"(?:mpiboot_\w+|ALERTS)\{([^}]*)\}", query):
            assert 'job=~"$job"' in matchers, title
        bare = re.sub(r"mpiboot_\w+\{", "", query)
        assert not monitoring.metrics_of(bare), title
    assert document["id"] is None  # Grafana gives it one
    assert document["uid"] == "mpiboot-jobs"
    assert document["schemaVersion"] >= 39
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(document))) - {"__all"} == set(variables)


@pytest.mark.parametrize(
    ("title", "states"), [("Phase of each agent", Phase), ("Stage of each agent", Stage)]
)
def test_timelines_know_every_state(title: str, states: type[Phase | Stage]) -> None:
    """Each state has a number in the query, and that number its name; ended ones have the least."""
    (panel,) = [one for one in panels() if one["title"] == title]
    (target,) = panel["targets"]
    coded = {
        int(number): state
        for number, state in re.findall(r"(\d+) \* \w+\{\w+=\"(\w+)\"", target["expr"])
    }
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    named = {int(number): one["text"] for number, one in mapping["options"].items()}
    assert set(named.values()) == {state.value for state in states}
    assert coded == {number: name for number, name in named.items() if number}
    last = {Phase.SUCCEEDED.value, Phase.FAILED.value, Stage.ENDED.value}
    assert all(number < 2 for number, name in named.items() if name in last)
