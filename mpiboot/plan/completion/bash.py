"""The script of bash: functions that need no package of completions, but use one that is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mpiboot.plan.completion.words import FOLLOWS, Command, alike, named, quoted, together

_HEAD = """\
# Completion of mpiboot for bash: source it, or lay it into
# /usr/share/bash-completion/completions/mpiboot
"""

# bash shows words alone: where there are several, the description stands behind each, as long as
# they are only listed. Words of which one is the beginning of the other stay apart by the spaces.
_BODY = r"""
__mpiboot_reply() { # of lines `word TAB description`, those that begin with $cur
  local line word width=0
  local -a found=()
  while IFS= read -r line; do
    word=${line%%$'\t'*}
    [[ $line && $word == "$cur"* ]] || continue
    found+=("$line")
    ((${#word} > width)) && width=${#word}
  done
  COMPREPLY=()
  for line in "${found[@]}"; do
    word=${line%%$'\t'*}
    if [[ $line == *$'\t'* && ${#found[@]} -gt 1 && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
      printf -v word '%-*s  (%s)' "$width" "$word" "${line#*$'\t'}"
      ((${#word} >= ${COLUMNS:-80})) && word="${word:0:${COLUMNS:-80}-2}…"
    fi
    COMPREPLY+=("$word")
  done
}

__mpiboot_job() { # $1: where -- stands; what follows is a command line of its own
  local each
  for each in _comp_command_offset _command_offset; do
    if declare -F "$each" >/dev/null; then
      "$each" $(($1 + 1))
      return
    fi
  done
  if ((COMP_CWORD == $1 + 1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    __mpiboot_value file ''
  fi
}

__mpiboot_value() { # $1: kind, $2: its choices
  case $1 in
  file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  directory) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
  choice) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$cur") ;;
  *) COMPREPLY=() ;;
  esac
  if [[ $1 == file || $1 == directory ]]; then compopt -o filenames; fi
}

_mpiboot() {
  local cur=${COMP_WORDS[COMP_CWORD]} flag='' before='' command='' i kind choices
  ((COMP_CWORD > 0)) && flag=${COMP_WORDS[COMP_CWORD - 1]}
  ((COMP_CWORD > 1)) && before=${COMP_WORDS[COMP_CWORD - 2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      __mpiboot_job "$i"
      return
    fi
  done
  # What follows = is a word of its own to bash.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $flag == = ]]; then
    flag=$before before=''
  fi
  if ((COMP_CWORD > 1)); then
    __mpiboot_is "${COMP_WORDS[1]}" && command=${COMP_WORDS[1]}
  fi
  kind='' choices=''
  if [[ $before == -* ]] && __mpiboot_takes "$command $before" && [[ $kind == two ]]; then
    return
  fi
  if [[ $flag == -* ]] && __mpiboot_takes "$command $flag"; then
    __mpiboot_value "$kind" "$choices"
  else
    __mpiboot_reply < <(
      if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
        __mpiboot_commands
      elif [[ $cur == -* ]] || ! __mpiboot_words "$command"; then
        __mpiboot_options "$command"
      fi
    )
  fi
}

complete -F _mpiboot mpiboot
"""


def script(commands: Sequence[Command]) -> str:
    """Return the script that completes these commands."""
    return _HEAD + "\n" + "\n".join(_tables(commands)) + _BODY


def _tables(commands: Sequence[Command]) -> list[str]:
    names = named(commands)
    lines = ["__mpiboot_commands() {", *_listed((one.name, one.purpose) for one in names), "}", ""]
    known = "|".join(one.name for one in names)
    lines += [f"__mpiboot_is() {{ case $1 in {known}) ;; *) return 1 ;; esac; }}", ""]
    lines += ["__mpiboot_words() {", "  case $1 in"]
    for command in commands:
        if command.choices:
            words = (quoted(word) for word in command.choices)
            lines.append(f"  {quoted(command.name)}) printf '%s\\n' {' '.join(words)} ;;")
    lines += ["  *) return 1 ;;", "  esac", "}", "", "__mpiboot_options() {"]
    for users, options in together(commands).items():
        rows = [(flag, one.help) for one in options for flag in one.flags]
        lines += [_of(users), *_listed(rows), "  ;; esac"]
    running = [one.name for one in commands if one.runs]
    lines += [_of(running), *_listed([("--", FOLLOWS)]), "  ;; esac"] if running else []
    return [*lines, "}", "", *_takes(commands)]


def _of(users: Sequence[str]) -> str:
    """Open a part that is for some commands."""
    return f"  case $1 in {' | '.join(map(quoted, users))})"


def _listed(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return the words that print `word TAB description`."""
    return [
        "  printf '%s\\t%s\\n' \\",
        *_continued(f"    {quoted(a)} {quoted(b)}" for a, b in rows),
    ]


def _continued(lines: Iterable[str]) -> list[str]:
    return " \\\n".join(lines).split("\n")


def _takes(commands: Sequence[Command]) -> list[str]:
    """Return the function that says of `command flag` what a value of it is: 1 where none follows."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for option, users in alike(commands).items():
        if option.values:
            what: str = "two" if len(option.values) > 1 else option.kind
            calls = [quoted(f"{name} {flag}") for name in users for flag in option.flags]
            found.setdefault((what, option.choices), []).extend(calls)
    lines = ["__mpiboot_takes() {", "  case $1 in"]
    for (what, choices), calls in found.items():
        lines += _continued(["  " + calls[0], *(f"    | {call}" for call in calls[1:])])
        lines[-1] += f") kind={what} choices={quoted(' '.join(choices))} ;;"
    return [*lines, "  *) return 1 ;;", "  esac", "}"]
