"""What a shell has to know to complete a command line, as a script of each shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpiboot.plan.completion import bash, fish, zsh
from mpiboot.plan.completion.words import Command

SHELLS: dict[str, Callable[[Sequence[Command]], str]] = {
    "bash": bash.script,
    "zsh": zsh.script,
    "fish": fish.script,
}
