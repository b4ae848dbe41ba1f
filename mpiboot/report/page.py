"""The page that people open in a browser: one text, nothing beside it is fetched.

It is read when somebody asks for it, and then kept: most launchers are never looked at.
"""

from __future__ import annotations

from pathlib import Path

_WEB = Path(__file__).with_name("web")
_SCRIPTS = ("words.js", "dom.js", "top.js", "tile.js", "workers.js", "texts.js", "live.js")
_kept: list[str] = []


def text() -> str:
    """Return the page as HTML, with its style and script inside and a policy that allows no other.

    The policy names both by their hashes: whatever a hostname or a line of stderr smuggles in, it is
    not run, and nothing is asked of anybody but the one who served the page.
    """
    if not _kept:
        _kept.append(_assembled())
    return _kept[0]


def _assembled() -> str:
    style = (_WEB / "page.css").read_text(encoding="utf-8")
    parts = "\n".join((_WEB / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = (_WEB / "page.html").read_text(encoding="utf-8")
    for name, part in (("policy", policy), ("style", style), ("script", script)):
        page = page.replace(f"{{{name}}}", part)
    return page


def _digest(text: str) -> str:
    """Return the source expression of the policy for one inline text."""
    import base64  # noqa: PLC0415 - both are needed once, if at all
    import hashlib  # noqa: PLC0415

    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
