"""Which variables reach the ranks and the SSH sessions, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.facts import Facts
from mpiboot.mpi.protocol import Export, Variable
from mpiboot.plan import rankenv
from mpiboot.plan.rankenv import Rules, differs, is_secret, matches
from mpiboot.plan.rankrules import SEARCH_PATHS

__all__ = ["by_name", "exports", "is_secret", "kept_paths", "session_environment"]

LINK = "MPIBOOT_LINK"  # tells a rank's wrapper where its agent listens
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


def session_environment(
    env: Mapping[str, str], *, allow: Sequence[str], deny: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Choose what a worker's container gives to the SSH sessions it serves.

    Returns:
        the variables, and the names left out for being a secret, not a single line, or too many.
    """
    chosen, left_out = {}, []
    for name, value in sorted(env.items()):
        if matches(name, deny) or (matches(name, _PER_SESSION) and not matches(name, allow)):
            continue
        secret = is_secret(name) and not matches(name, allow)
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


# What comes first, for it is there in every job.
_FIRST = ("NCCL_DEBUG", *SEARCH_PATHS, "PYTHONUNBUFFERED")
# What is set although nobody has set it.
_DEFAULTS = (
    Export(name="NCCL_DEBUG", value="INFO", reason="Horovod"),
    Export(
        name="PYTHONUNBUFFERED", value="1", reason="the last lines of a killed rank are not lost"
    ),
)


def exports(
    wanted: Sequence[str],
    env: Mapping[str, str],
    facts: Sequence[Facts | None],
    rules: Rules | None = None,
    *,
    horovod: bool = True,
) -> list[Export]:
    """Choose what mpirun hands to the ranks.

    Args:
        wanted: the user's own words, NAME or NAME=VALUE.
        env: the launcher's environment.
        facts: what each worker says; None for a plain sshd.
        rules: what is added to the rules.
        horovod: whether what horovodrun would set is set.
    """
    decisions = rankenv.rank_environment(env, wanted, facts, rules)
    named = {one.name for one in decisions}
    defaults = _DEFAULTS if horovod else _DEFAULTS[1:]
    chosen = {one.name: one for one in defaults if one.name not in named}
    for one in decisions:
        if one.passed:
            chosen[one.name] = Export(name=one.name, value=one.value, reason=one.reason)
    first = [chosen.pop(name) for name in _FIRST if name in chosen]
    return [*first, *chosen.values()]


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
        if export.value is None or matches(export.name, _READ_BY_MPIRUN):
            named.append(export)
            continue
        named.append(Export(name=export.name, value=None, reason=export.reason))
        variables.append(Variable(name=export.name, value=export.value, reason=export.reason))
    return named, variables


def kept_paths(env: Mapping[str, str], facts: Sequence[Facts | None]) -> list[str]:
    """Name the search paths that are not handed on, because workers have their own."""
    return [name for name in SEARCH_PATHS if name in env and differs(name, env[name], facts)]


def _fits(name: str, value: str) -> bool:
    """Tell whether sshd's SetEnv can carry it: one line, and a name without blanks or quotes."""
    clean = not any(c in "\n\r\0" for c in name + value)
    return clean and bool(name) and not any(c.isspace() or c in "\"'\\=#" for c in name)
