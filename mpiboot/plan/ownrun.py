"""Does the job's command start an MPI launcher itself? Then mpiboot must not start one around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from mpiboot.model.record import dataclass, field, replace
from mpiboot.plan import shellwords

HOROVODRUN = "horovodrun"
LAUNCHERS = frozenset(
    (
        "mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun.openmpi",
        "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", HOROVODRUN,
    )
)  # fmt: skip

_SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
_SHEBANG = re.compile(r"#!\s*\S*(?:/|\benv\s+(?:-\S+\s+)*)(?:sh|bash|dash|ash|ksh|zsh)\b")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?|\$\{\w+:?-([^}]+)\}")
_STRUCTURE = frozenset(
    ("!", "{", "if", "then", "else", "elif", "while", "until", "do", "eval", "builtin")
)
# A question about the launcher is no job.
_QUESTIONS = frozenset(("--version", "-V", "--help", "-h", "-help", "-version", "-info"))
_DEEPEST = 4  # shells within shells


class Where(Enum):
    """Where the launcher stands."""

    ARGV = "a word of the command"
    INLINE = "in the text of sh -c"
    SCRIPT = "in a script file"


@dataclass(frozen=True, kw_only=True)
class Own:
    """The user's own launcher.

    Attributes:
        program: as it is written, a name or a path.
        where: in which part of the command it stands.
        at: its place in the command; None unless it is a word of it.
        sure: False where it was followed through a variable, which may hold something else by then.
    """

    program: str
    where: Where
    at: int | None = None
    sure: bool = True

    @property
    def name(self) -> str:
        """The program's name without its directory."""
        return _base(self.program)

    @property
    def horovodrun(self) -> bool:
        """Tell whether it is Horovod's launcher, which calls mpirun by its name."""
        return self.name == HOROVODRUN


@dataclass(frozen=True, kw_only=True)
class _Prefix:
    """How a program reads its words before it becomes another program.

    Attributes:
        valued: options whose value is the next word.
        operands: words of its own after the options.
        ends: options with which it does not start the program that follows.
        assigns: whether NAME=VALUE words may come before the program.
    """

    valued: frozenset[str] = field(default_factory=frozenset)
    operands: int = 0
    ends: frozenset[str] = field(default_factory=frozenset)
    assigns: bool = False


def _valued(*options: str) -> frozenset[str]:
    return frozenset(options)


_PREFIXES = {
    "env": _Prefix(
        valued=_valued("-u", "--unset", "-C", "--chdir"),
        ends=_valued("-S", "--split-string"),
        assigns=True,
    ),
    "timeout": _Prefix(valued=_valued("-k", "--kill-after", "-s", "--signal"), operands=1),
    "nice": _Prefix(valued=_valued("-n", "--adjustment")),
    "ionice": _Prefix(
        valued=_valued("-c", "--class", "-n", "--classdata"), ends=_valued("-p", "--pid")
    ),
    "taskset": _Prefix(operands=1, ends=_valued("-p", "--pid")),
    "numactl": _Prefix(
        valued=_valued("-i", "-N", "-C", "-m", "-p", "-P"), ends=_valued("-s", "-H")
    ),
    "stdbuf": _Prefix(valued=_valued("-i", "-o", "-e", "--input", "--output", "--error")),
    "time": _Prefix(valued=_valued("-f", "--format", "-o", "--output")),
    "exec": _Prefix(valued=_valued("-a")),
    "command": _Prefix(ends=_valued("-v", "-V")),
    "nohup": _Prefix(),
    "setsid": _Prefix(),
    "tini": _Prefix(valued=_valued("-p", "-e", "-r")),
    "dumb-init": _Prefix(valued=_valued("-r", "--rewrite")),
    "catatonit": _Prefix(),
}
_SHELL_VALUED = _valued("--rcfile", "--init-file")


def script_of(command: Sequence[str]) -> str:
    """Return the name or path of the file that the command runs as a program or gives to a shell.

    Its text belongs into `find`, if it is a text at all; empty: there is nothing to read.
    """
    at = _program(command, 0)
    if at is None or _base(command[at]) in LAUNCHERS:
        return ""
    if _base(command[at]) not in _SHELLS:
        return command[at]
    inline, operand = _shell(command, at)
    return "" if inline or operand is None else command[operand]


def find(command: Sequence[str], script: str | None = None) -> Own | None:
    """Find the MPI launcher that a command starts; a mere mention of its name does not count.

    Args:
        command: the job.
        script: text of the file that `script_of` names; None where it cannot be read.
    """
    return _find(list(command), script, _DEEPEST)


def _find(command: list[str], script: str | None, depth: int) -> Own | None:
    at = _program(command, 0)
    if at is None or not depth:
        return None
    name = _base(command[at])
    if name in LAUNCHERS:
        asks = _QUESTIONS.issuperset(command[at + 1 :]) and at + 1 < len(command)
        return None if asks else Own(program=command[at], where=Where.ARGV, at=at)
    if name in _SHELLS:
        inline, operand = _shell(command, at)
        if operand is None:
            return None
        if inline:
            return _scan(command[operand], Where.INLINE, depth)
        return _scan(script, Where.SCRIPT, depth) if script is not None else None
    if script is not None and _SHEBANG.match(script):
        return _scan(script, Where.SCRIPT, depth)
    return None


def _scan(text: str, where: Where, depth: int) -> Own | None:
    """Find the first launcher that a shell script starts."""
    held: dict[str, str] = {}
    for words in shellwords.commands(text):
        at = 0
        while at < len(words) and (words[at] in _STRUCTURE or _ASSIGNMENT.match(words[at])):
            name, equals, value = words[at].partition("=")
            if equals and value:
                held[name.rstrip("+")] = value.split()[0] if value.split() else ""
            at += 1
        simple, sure = _followed(words[at:], held)
        found = _find(simple, None, depth - 1)
        if found is not None:
            return replace(found, where=where, at=None, sure=sure and found.sure)
    return None


def _followed(words: list[str], held: dict[str, str]) -> tuple[list[str], bool]:
    """Put what a variable was set to in place of a first word that is this variable."""
    match = _VARIABLE.fullmatch(words[0]) if words else None
    value = (match[2] or held.get(match[1], "")) if match else ""
    return ([value, *words[1:]], False) if value else (words, True)


def _program(words: Sequence[str], at: int) -> int | None:
    """Skip programs that become another one; None where there is none, or no telling."""
    while at < len(words):
        prefix = _PREFIXES.get(_base(words[at]))
        if prefix is None:
            return at
        after = _past(words, at + 1, prefix)
        if after is None:
            return None
        at = after
    return None


def _past(words: Sequence[str], at: int, prefix: _Prefix) -> int | None:
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        at += 1
        if word == "--":
            break
        if word.partition("=")[0] in prefix.ends:
            return None
        at += word in prefix.valued
    while prefix.assigns and at < len(words) and "=" in words[at]:
        at += 1
    return at + prefix.operands


def _shell(words: Sequence[str], at: int) -> tuple[bool, int | None]:
    """Tell whether a shell gets its script as a word, and where that or the script's name stands."""
    inline = False
    at += 1
    while at < len(words) and words[at][:1] in ("-", "+") and len(words[at]) > 1:
        word = words[at]
        at += 1
        if word.startswith("--"):
            if word == "--":
                break
            at += word in _SHELL_VALUED
            continue
        inline = inline or (word[0] == "-" and "c" in word)
        at += word.count("o")
    return inline, at if at < len(words) else None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
