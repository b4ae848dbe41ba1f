"""The reference pages say what the code says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mpiboot.errors import EXIT_MEANINGS, ExitCode
from mpiboot.model import options
from mpiboot.model.settings import specs
from mpiboot.report import catalogue, schema
from mpiboot.report.metrics import Metric
from tests.helpers import pictures
from tests.helpers.schema import problems as schema_problems
from tests.pages import regions, troubles
from tests.pages.regions import Region

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("region", regions.REGIONS, ids=lambda one: f"{one.page}:{one.name}")
def test_page_is_as_the_code_has_it(region: Region) -> None:
    """What stands between the marks is what the code renders, word for word; `make docs` renews it."""
    page = (regions.ROOT / region.page).read_text()
    assert regions.found(page, region.name) == region.text()


def test_each_mark_belongs_to_a_part() -> None:
    """No page has a mark that nobody renews."""
    assert regions.strange() == []


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


def test_doctors_page_has_each_field() -> None:
    """Each field of the doctor's JSON is explained in docs/doctor.md."""
    page = (DOCS / "doctor.md").read_text()
    fields = json.loads(schema.text("doctor"))["properties"]
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_status_page_shows_a_valid_example() -> None:
    """The example in docs/status.md keeps to the schema, and each of its fields is explained."""
    page = (DOCS / "status.md").read_text()
    example = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert schema_problems(example) == []
    fields = json.loads(schema.text())["properties"]
    assert [name for name in fields if f"| `{name}` |" not in page] == []


def test_versions_page_shows_a_valid_example() -> None:
    """The example in docs/version.md keeps to the schema, and each of its fields is explained."""
    page = (DOCS / "version.md").read_text()
    example = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert schema_problems(example, "version") == []
    table = page.partition("| field |")[2]
    assert [
        name
        for name in json.loads(schema.text("version"))["properties"]
        if f"`{name}`" not in table
    ] == []


def test_every_setting_says_what_it_is_for() -> None:
    """No row is empty, and none ends with a full stop."""
    for spec in specs():
        assert spec.help, spec.name
        assert not spec.help.endswith("."), spec.name


def test_no_variable_looks_like_a_parcel() -> None:
    """A setting whose variable begins as the entry script's parcels do would never be read."""
    assert [spec.name for spec in specs() if spec.variable.startswith(options.PARCEL)] == []


@pytest.mark.parametrize("name", pictures.TITLES)
def test_pictures_show_what_is_drawn(name: str) -> None:
    """The pictures of docs/terminal.md have the words of today's screens; they fetch nothing."""
    kept = (pictures.PLACE / f"{name}.svg").read_text()
    drawn = pictures.svg(pictures.TITLES[name], pictures.pictures()[name])
    assert pictures.words(kept) == pictures.words(drawn)
    assert f"pictures/{name}.svg" in (DOCS / "terminal.md").read_text()
    assert kept.count("http") == 1  # the name of SVG itself


def test_each_code_has_a_meaning_and_an_entry() -> None:
    """Each code of the agent's own is in docs/exit-codes.md, and something is said of it."""
    assert set(EXIT_MEANINGS) == set(ExitCode) - {ExitCode.OK}
    assert set(troubles.codes()) == {int(code) for code in EXIT_MEANINGS}
