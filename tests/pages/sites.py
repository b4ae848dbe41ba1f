"""Every place in the package that says what went wrong, with the text that it says.

A text is written as people see it, with `…` for each part that differs from case to case. Places are
errors (any class below MpibootError), warnings and errors of the log, and the records of a verdict:
outcomes, failures, losses, ends. Where a place passes on what another one has put into words, that
other one is a source (tests/pages/sources.py), and every sentence in it is found as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.pages import sources

_ROOT = Path(__file__).resolve().parents[2]
_LEVELS = ("warning", "error")
_PERCENT = re.compile(r"%[-+0-9.]*[a-z]")
_TWO_WORDS = re.compile(r"[A-Za-z`'-]{2,}[ ,:;(`']+.*[A-Za-z]{2,}")
_JOINED = (";", ",", "(", ":", "and ", "… more")  # how a part of a sentence begins
_Names = Mapping[str, list[ast.expr]]
# Records in which a verdict is put into words, and the field that holds them.
_RECORDS = {
    "Failure": "message", "Outcome": "message", "Loss": "why", "Lost": "why", "Exit": "reason",
    "Halt": "detail", "Decision": "reason", "Login": "detail", "Taken": "refused",
    "Refused": "reason", "Answer": "text", "Reply": "text",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Site:
    """One place that says something.

    Attributes:
        where: file and line.
        function: `module:function` around it, the module without `mpiboot.`.
        kind: the error's class, `warning`, `error`, the record's name, or `source`.
        text: what it says; empty where it passes on what it was given.
        given: the expression that it passes on; else empty.
    """

    where: str
    function: str
    kind: str
    text: str
    given: str = ""


@cache
def found() -> tuple[Site, ...]:
    """Return all places in the package."""
    texts = {path: path.read_text() for path in sorted((_ROOT / "mpiboot").rglob("*.py"))}
    kinds = _errors(ast.parse(texts[_ROOT / "mpiboot" / "errors.py"])) | {"PodError"}
    return tuple(
        site
        for path, text in texts.items()
        for site in of_source(_named(path), text, kinds, str(path.relative_to(_ROOT)))
    )


def of_source(module: str, text: str, errors: set[str], path: str = "") -> list[Site]:
    """Return the places in one module.

    Args:
        module: its name without `mpiboot.`.
        text: its source.
        errors: names of the classes of errors.
        path: shown in `where`; else the module.
    """
    tree = ast.parse(text)
    look = _Look(module, path or module, tree, errors)
    look.visit(tree)
    return look.sites


def _named(path: Path) -> str:
    parts = path.relative_to(_ROOT / "mpiboot").with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _errors(tree: ast.Module) -> set[str]:
    """Name the classes of errors that end the agent with a line."""
    return {one.name for one in tree.body if isinstance(one, ast.ClassDef)} - {"ExitCode"}


class _Look(ast.NodeVisitor):
    """Walks through a module, and keeps what says something."""

    def __init__(self, module: str, path: str, tree: ast.Module, errors: set[str]) -> None:
        self.sites: list[Site] = []
        self._module = module
        self._path = path
        self._errors = errors
        self._constants = _assigned(tree.body)
        self._around: list[ast.FunctionDef | ast.AsyncFunctionDef] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._enter(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._enter(node)

    def _enter(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._around.append(node)
        if self._function in sources.SOURCES:
            self._take(node, self._around[0].name)
        self.generic_visit(node)
        self._around.pop()

    def _take(self, node: ast.AST, name: str) -> None:
        """Keep every sentence below a node that makes words for others."""
        for text, line in _sentences(node, self._names):
            self._add(line, "source", text, name=name)

    @property
    def _function(self) -> str:
        return f"{self._module}:{self._around[0].name if self._around else ''}"

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [one.id for one in node.targets if isinstance(one, ast.Name)]
        if not self._around and f"{self._module}:{''.join(names)}" in sources.SOURCES:
            self._take(node, "".join(names))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if f"{self._module}:{node.name}" in sources.SOURCES:
            self._take(node, node.name)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).rpartition(".")[2]
        logs = name in _LEVELS and "logger" in ast.unparse(node.func)
        if node.args and (logs or name in self._errors):
            self._say(node.args[0], name)
        elif name in _RECORDS:
            for given in node.keywords:
                if given.arg == _RECORDS[name]:
                    self._say(given.value, name)
        self.generic_visit(node)

    def _say(self, node: ast.expr, kind: str) -> None:
        for text, given in self._texts(node):
            self._add(node.lineno, kind, text, given)

    def _add(self, line: int, kind: str, text: str, given: str = "", name: str = "") -> None:
        where = f"{self._path}:{line}"
        function = f"{self._module}:{name}" if name else self._function
        one = Site(where=where, function=function, kind=kind, text=text, given=given)
        if not any((one.text, one.given) == (site.text, site.given) and one.function == site.function
                   and one.kind == site.kind for site in self.sites):  # fmt: skip
            self.sites.append(one)

    def _texts(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        """Yield the texts that an expression may have, or what it passes on."""
        text = written(node, self._names)
        if text == "":
            return
        if text is not None and re.search(r"[A-Za-z]{2}", text):
            yield text, ""
        elif isinstance(node, ast.IfExp):
            yield from self._texts(node.body)
            yield from self._texts(node.orelse)
        elif isinstance(node, ast.BoolOp):
            for one in node.values:
                yield from self._texts(one)
        elif isinstance(node, ast.Name) and (values := self._values(node.id)):
            for one in values:
                yield from self._texts(one)
        else:
            yield "", ast.unparse(node)

    def _values(self, name: str) -> list[ast.expr]:
        """Find what a name may stand for: in the function, else in the module."""
        return self._names.get(name) or self._constants.get(name, [])

    @property
    def _names(self) -> _Names:
        return _assigned(self._around[-1].body) if self._around else {}


def _assigned(body: list[ast.stmt]) -> dict[str, list[ast.expr]]:
    """Collect all that names are assigned in some statements and below them."""
    found: dict[str, list[ast.expr]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _sentences(node: ast.AST, names: _Names) -> Iterator[tuple[str, int]]:
    """Yield every sentence that is written below a node; docstrings are none."""
    inside: set[int] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            inside.add(id(one.value))
        if not isinstance(one, ast.expr) or id(one) in inside:
            continue
        text = written(one, names)
        if text is not None:
            inside.update(id(part) for part in ast.walk(one))
            if _TWO_WORDS.search(text) and not text.startswith(_JOINED):
                yield text, one.lineno


def written(node: ast.expr, names: _Names) -> str | None:
    """Return the text that an expression is, with `…` for each part that is not known; or None.

    Args:
        node: the expression.
        names: what the names of the function stand for.
    """
    text = _raw(node, names)
    return None if text is None else re.sub(r"…+", "…", " ".join(text.split()))


def _raw(node: ast.expr, names: _Names) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PERCENT.sub("…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(one, names) for one in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_raw(node.left, names), _raw(node.right, names)]
        if any(side is not None for side in sides):
            return "".join("…" if side is None else side for side in sides)
    return None


def _part(node: ast.expr, names: _Names) -> str:
    """Return a piece of an f-string; a name that stands for one text, and only one, is that text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        values = names.get(node.value.id, [])
        text = _raw(values[0], {}) if len(values) == 1 else None
        if text is not None and re.search(r"[A-Za-z]{2}", text):
            return text
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Call):
        return _counted(node.value)
    return "…"


def _counted(node: ast.Call) -> str:
    """Return `… slots` for a number of things; `…` for any other call."""
    name = ast.unparse(node.func).rpartition(".")[2]
    words = [str(one.value) for one in node.args[1:] if isinstance(one, ast.Constant)]
    return f"… {words[1] if words[1:] else f'{words[0]}s'}" if name == "counted" else "…"
