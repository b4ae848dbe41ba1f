"""Which variables reach the ranks and the SSH sessions, and why."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from mpiboot.model.facts import Facts
from mpiboot.mpi.protocol import Export, Variable

# Names that speak of a secret. They stay with the container they were given to, unless allowed.
SECRET_NAMES = (
    "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*TOKEN*", "*CREDENTIAL*", "*PRIVATE_KEY*",
    "*API_KEY*", "*APIKEY*", "*ACCESS_KEY*", "*_AUTH",
)  # fmt: skip

# What sshd sets for each session itself, what a shell leaves behind, and what is the agent's own.
_PER_SESSION = (
    "USER", "LOGNAME", "SHELL", "MAIL", "TERM", "PWD", "OLDPWD", "SHLVL", "_", "LS_COLORS", "SSH_*",
    "MPIBOOT_*", "BASH_FUNC_*", "OMPI_COMM_*", "OMPI_UNIVERSE_*", "PMIX_*", "PMI_*", "LISTEN_*",
    "NOTIFY_SOCKET",
)  # fmt: skip

# sshd gives up on a session with 1,000 variables, and adds some of its own.
MOST_VARIABLES = 900
# Kubernetes tells every pod of every Service of its namespace, in seven variables or more each.
_SERVICE = "_SERVICE_HOST"

# Horovod's own line: NCCL speaks, and the search paths of the launcher are those of the ranks.
_PATHS = ("PATH", "LD_LIBRARY_PATH")


def session_environment(
    env: Mapping[str, str], *, allow: Sequence[str], deny: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Choose what a worker's container gives to the SSH sessions it serves.

    Returns:
        the variables, and the names left out for being a secret, not a single line, or too many.
    """
    chosen, left_out = {}, []
    for name, value in sorted(env.items()):
        if _matches(name, deny) or (_matches(name, _PER_SESSION) and not _matches(name, allow)):
            continue
        secret = _matches(name.upper(), SECRET_NAMES) and not _matches(name, allow)
        if secret or not _fits(name, value):
            left_out.append(name)
        else:
            chosen[name] = value
    spare = _beyond_the_limit(chosen)
    left_out += sorted(spare)
    return {name: value for name, value in chosen.items() if name not in spare}, left_out


def _beyond_the_limit(env: Mapping[str, str]) -> set[str]:
    """Name what stays out where sshd cannot carry all: the Services of Kubernetes, then the last."""
    if len(env) <= MOST_VARIABLES:
        return set()
    services = [name.removesuffix(_SERVICE) for name in env if name.endswith(_SERVICE)]
    lead = tuple(f"{service}{tail}" for service in services for tail in ("_SERVICE_", "_PORT_"))
    whole = {f"{service}_PORT" for service in services}
    spare = {name for name in env if name in whole or name.startswith(lead)}
    return spare.union([name for name in env if name not in spare][MOST_VARIABLES:])


def exports(
    wanted: Sequence[str], env: Mapping[str, str], facts: Sequence[Facts | None]
) -> list[Export]:
    """Choose what mpirun hands to the ranks.

    Args:
        wanted: the user's own words, NAME or NAME=VALUE.
        env: the launcher's environment.
        facts: what each worker says; None for a plain sshd.
    """
    chosen: dict[str, Export] = {}
    if "NCCL_DEBUG" in env:
        chosen["NCCL_DEBUG"] = Export(name="NCCL_DEBUG", value=None, reason="set here")
    else:
        chosen["NCCL_DEBUG"] = Export(name="NCCL_DEBUG", value="INFO", reason="Horovod")
    for name in _PATHS:
        if name in env and not _differs(name, env[name], facts):
            chosen[name] = Export(name=name, value=None, reason="Horovod: set here")
    value = None if "PYTHONUNBUFFERED" in env else "1"
    reason = "the last lines of a killed rank are not lost"
    chosen["PYTHONUNBUFFERED"] = Export(name="PYTHONUNBUFFERED", value=value, reason=reason)
    for word in wanted:
        name, equals, value = word.partition("=")
        if equals or name in env:
            chosen[name] = Export(name=name, value=value if equals else None, reason="yours")
        else:
            chosen.pop(name, None)
    return list(chosen.values())


# mpirun reads these itself: they must not change for it when only the ranks are meant.
_READ_BY_MPIRUN = (
    "PATH", "HOME", "TMPDIR", "TMP", "TEMP", "LD_*", "OMPI_*", "OPAL_*", "PRTE_*", "PMIX_*", "PMI_*",
    "HYDRA_*", "MPIEXEC_*", "I_MPI_HYDRA_*", "PYTHONHOME",
)  # fmt: skip


def by_name(exports: Sequence[Export]) -> tuple[list[Export], list[Variable]]:
    """Put values into mpirun's own environment, so that they stand in no process list.

    Returns:
        the exports, by name where possible, and what mpirun's environment gains.
    """
    named, variables = [], []
    for export in exports:
        if export.value is None or _matches(export.name, _READ_BY_MPIRUN):
            named.append(export)
            continue
        named.append(Export(name=export.name, value=None, reason=export.reason))
        variables.append(Variable(name=export.name, value=export.value, reason=export.reason))
    return named, variables


def is_secret(name: str) -> bool:
    """Tell whether a name speaks of a secret."""
    return _matches(name.upper(), SECRET_NAMES)


def unset_names(wanted: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Name the variables that the user wants handed on and that are not set here."""
    return [word for word in wanted if "=" not in word and word not in env]


def kept_paths(env: Mapping[str, str], facts: Sequence[Facts | None]) -> list[str]:
    """Name the search paths that are not handed on, because workers have their own."""
    return [name for name in _PATHS if name in env and _differs(name, env[name], facts)]


def _differs(name: str, value: str, facts: Sequence[Facts | None]) -> bool:
    """Tell whether an agent serves sessions with another search path than the launcher's.

    A worker's own PATH is right for its own files; the launcher's would hide it.
    """
    own = [f.path if name == "PATH" else f.ld_library_path for f in facts if f is not None]
    return any(text and text != value for text in own)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _fits(name: str, value: str) -> bool:
    """Tell whether sshd's SetEnv can carry it: one line, and a name without blanks or quotes."""
    clean = not any(c in "\n\r\0" for c in value)
    return clean and bool(name) and not any(c.isspace() or c in "\"'\\=#" for c in name)
