"""The reference pages say what the code says."""

from __future__ import annotations

import json
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from mpiboot.errors import EXIT_MEANINGS, ExitCode
from mpiboot.model import options
from mpiboot.model.settings import specs
from mpiboot.plan import rankrules
from mpiboot.plan.doctor import topics
from mpiboot.report import catalogue, cataloguepage, schema
from mpiboot.report.metrics import Metric
from tests.helpers.schema import problems as schema_problems

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_settings_page_is_the_table_that_the_code_prints() -> None:
    """`mpiboot config --markdown` stands in docs/settings.md, word for word."""
    page = (DOCS / "settings.md").read_text()
    table = page.partition("<!-- settings -->\n")[2].partition("<!-- /settings -->")[0]
    assert table == options.markdown()


def test_environment_page_is_the_table_of_the_rules() -> None:
    """`rankrules.markdown()` stands in docs/environment.md, word for word."""
    page = (DOCS / "environment.md").read_text()
    table = page.partition("<!-- rank environment -->\n")[2].partition("<!-- /rank")[0]
    assert table == rankrules.markdown()


def test_metrics_page_is_the_table_of_the_catalogue() -> None:
    """`cataloguepage.markdown()` stands in docs/metrics.md, word for word."""
    page = (DOCS / "metrics.md").read_text()
    table = page.partition("<!-- metrics -->\n")[2].partition("<!-- /metrics -->")[0]
    assert table == cataloguepage.markdown()


def test_examples_of_metrics_are_samples() -> None:
    """Each can be scraped as it stands: Prometheus' own parser finds the metric with all its labels."""
    for metric in catalogue.every_metric():
        ((sample,),) = [
            family.samples
            for family in text_string_to_metric_families(f"{metric.name}{_spaced(metric)}\n")
        ]
        assert sample.name == metric.name
        assert tuple(sample.labels) == metric.labels, metric.name


def _spaced(metric: Metric) -> str:
    return metric.example if metric.labels else f" {metric.example}"


def test_doctors_page_is_the_table_of_its_topics() -> None:
    """`topics.markdown()` stands in docs/doctor.md, word for word, and each field of the JSON, too."""
    page = (DOCS / "doctor.md").read_text()
    table = page.partition("<!-- topics -->\n")[2].partition("<!-- /topics -->")[0]
    assert table == topics.markdown()
    fields = json.loads(schema.text("doctor"))["properties"]
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_status_page_shows_a_valid_example() -> None:
    """The example in docs/status.md keeps to the schema, and each of its fields is explained."""
    page = (DOCS / "status.md").read_text()
    example = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert schema_problems(example) == []
    fields = json.loads(schema.text())["properties"]
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_every_setting_says_what_it_is_for() -> None:
    """No row is empty, and none ends with a full stop."""
    for spec in specs():
        assert spec.help, spec.name
        assert not spec.help.endswith("."), spec.name


def test_no_variable_looks_like_a_parcel() -> None:
    """A setting whose variable begins as the entry script's parcels do would never be read."""
    assert [spec.name for spec in specs() if spec.variable.startswith(options.PARCEL)] == []


def test_exit_codes_page_lists_each_code() -> None:
    """Each code of the agent's own stands in docs/exit-codes.md with its meaning."""
    page = (DOCS / "exit-codes.md").read_text()
    for code, meaning in EXIT_MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in page
    assert set(EXIT_MEANINGS) == set(ExitCode) - {ExitCode.OK}
