"""The layers of the package, drawn from the contract that import-linter checks."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_WIDTH = 84
_LIST = re.compile(r'^type = "layers"$.*?^layers = (\[.*?^\])', re.MULTILINE | re.DOTALL)


def drawn() -> str:
    """Draw a box for each layer, the highest first, with what its packages say of themselves."""
    lines = ["```text"]
    for number, layer in enumerate(_layers()):
        lines.append(("├" if number else "┌") + "─" * _WIDTH + ("┤" if number else "┐"))
        for name in layer:
            for at, text in enumerate(textwrap.wrap(_says(name), _WIDTH - 14)):
                lines.append(f"│ {'' if at else name:<11} {text:<{_WIDTH - 13}}│")
    return "\n".join([*lines, "└" + "─" * _WIDTH + "┘", "```", ""])


def _layers() -> list[list[str]]:
    """Read the contract; `a | b` are two packages of one layer, which do not know each other."""
    found = _LIST.search((_ROOT / "pyproject.toml").read_text())
    assert found is not None, "pyproject.toml has no contract of layers"
    return [[name.strip() for name in layer.split("|")] for layer in ast.literal_eval(found[1])]


def _says(name: str) -> str:
    """Return the first sentence of a module's or package's docstring."""
    place = _ROOT / "mpiboot" / name
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].rstrip(".")
