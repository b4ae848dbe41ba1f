"""The script of zsh, in the words of its own `_arguments`."""

from __future__ import annotations

from collections.abc import Sequence

from mpiboot.plan.completion.words import Command, Option, named, quoted, together

_HEAD = """\
#compdef mpiboot
# Completion of mpiboot for zsh: a file _mpiboot in a directory of $fpath, or after compinit
# source <(mpiboot completion zsh)

_mpiboot() {
  local curcontext=$curcontext command=''
  local -a names specs # zsh itself has `commands` and `options`
  integer job=${words[(i)--]}
  if (( job < CURRENT )); then # a command line of its own
    shift job words
    (( CURRENT -= job ))
    _normal -p mpiboot
    return
  fi
"""

_TAIL = """\
  if [[ -z $command ]] && (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then
    _describe -t commands command names
    return
  fi
  if [[ -n $command ]]; then
    shift words
    (( CURRENT-- ))
  fi
  _arguments $specs
}

if [[ $funcstack[1] == _mpiboot ]]; then _mpiboot "$@"; else compdef _mpiboot mpiboot; fi
"""


def script(commands: Sequence[Command]) -> str:
    """Return the script that completes these commands."""
    names = named(commands)
    told = (quoted(f"{one.name}:{one.purpose}") for one in names)
    known = "|".join(one.name for one in names)
    lines = [
        "  names=(",
        *(f"    {one}" for one in told),
        "  )",
        f"  (( CURRENT > 2 )) && case $words[2] in {known}) command=$words[2] ;; esac",
    ]
    for users, options in together(commands).items():
        specs = [spec for option in options for spec in _specs(option)]
        lines += _added(users, specs)
    for command in commands:
        if command.choices:
            lines += _added([command.name], [f"1:word:({' '.join(command.choices)})"])
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _added(users: Sequence[str], specs: Sequence[str]) -> list[str]:
    """Add words for `_arguments` where one of some commands is called."""
    called = "|".join(quoted(name) for name in users)
    return [
        f"  case $command in {called}) specs+=(",
        *(f"    {quoted(one)}" for one in specs),
        "  ) ;; esac",
    ]


def _specs(option: Option) -> list[str]:
    others = "" if option.repeats or len(option.flags) == 1 else f"({' '.join(option.flags)})"
    first = "*" if option.repeats else others
    text = _escaped(option.help)
    values = "".join(f":{_escaped(name)}:{_action(option)}" for name in option.values)
    return [
        f"{first}{flag}{_joint(flag, option)}[{text}]{values}" for flag in option.flags
    ]  # fmt: skip


def _joint(flag: str, option: Option) -> str:
    """Return the sign that a value may come after = in the same word."""
    return "=" if flag.startswith("--") and len(option.values) == 1 else ""


def _action(option: Option) -> str:
    match option.kind:
        case "file":
            return "_files"
        case "directory":
            return "_files -/"
        case "choice":
            return f"({' '.join(option.choices)})"
        case _:
            return " "


def _escaped(text: str) -> str:
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text
