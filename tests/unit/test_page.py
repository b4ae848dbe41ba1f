"""The text of the page: whole, small, and with a policy that names what is in it and nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiboot.report import page
from tests.helpers import schema, views

WEB = Path(page.__file__).with_name("web")
DOCS = Path(__file__).parents[2] / "docs"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_names_the_one_script_and_the_one_style() -> None:
    """Nothing is allowed by default, no word is unsafe, and the hashes are those of what is there."""
    text = page.text()
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    words = dict(one.strip().partition(" ")[::2] for one in policy[0].split(";"))
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert words == {
        "default-src": "'none'",
        "script-src": f"'sha256-{_digest(script)}'",
        "style-src": f"'sha256-{_digest(style)}'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_every_script_is_in_the_page() -> None:
    """A file that is written is served: none is forgotten, and no placeholder is left."""
    text = page.text()
    for path in WEB.glob("*.js"):
        assert path.read_text() in text, path.name
    assert (WEB / "page.css").read_text() in text
    assert not re.search(r"\{(policy|style|script)\}", text)


def test_no_data_becomes_markup_and_nothing_is_fetched() -> None:
    """No way to make markup of text is used, no address of others stands in it, ASCII alone."""
    text = page.text()
    assert text.isascii()
    banned = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|DOMParser"
    assert re.findall(banned, text) == []
    assert set(re.findall(r"https?://[^\s\"'<>]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|script|img|iframe)[^>]*(src|href)=\"(?!data:,\")", text)


def test_it_is_small() -> None:
    """A browser on a slow line gets it in one breath."""
    assert len(page.text()) < 80_000


@pytest.mark.parametrize("make", views.EVERY, ids=lambda make: make.__name__)
def test_the_pages_tests_show_it_what_a_launcher_may_send(make: Callable[[], views.View]) -> None:
    """Their documents keep to the view's schema."""
    schema.assert_valid(json.loads(json.dumps(make())), "view")


def test_the_pictures_are_those_that_are_shown() -> None:
    """docs/page.md shows each picture that is there, and no other; none is a burden to a checkout."""
    shown = set(re.findall(r"\(pictures/([^)]+)\)", (DOCS / "page.md").read_text()))
    there = list((DOCS / "pictures").glob("*.png"))
    assert {path.name for path in there} == shown
    assert [path.name for path in there if path.stat().st_size > 150_000] == []
