"""The reference pages say what the code says."""

from __future__ import annotations

from pathlib import Path

from mpiboot.errors import EXIT_MEANINGS, ExitCode
from mpiboot.model import options
from mpiboot.model.settings import specs
from mpiboot.plan import rankrules

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


def test_every_setting_says_what_it_is_for() -> None:
    """No row is empty, and none ends with a full stop."""
    for spec in specs():
        assert spec.help, spec.name
        assert not spec.help.endswith("."), spec.name


def test_exit_codes_page_lists_each_code() -> None:
    """Each code of the agent's own stands in docs/exit-codes.md with its meaning."""
    page = (DOCS / "exit-codes.md").read_text()
    for code, meaning in EXIT_MEANINGS.items():
        assert f"| {int(code)} | {meaning} |" in page
    assert set(EXIT_MEANINGS) == set(ExitCode) - {ExitCode.OK}
