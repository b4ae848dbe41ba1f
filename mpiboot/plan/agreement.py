"""Do launcher and workers have the same MPI? Asked before mpirun, whose own words for it are poor."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts
from mpiboot.model.record import dataclass
from mpiboot.mpi import DIALECTS
from mpiboot.mpi.protocol import Needs
from mpiboot.plan.parties import Party, listed

_CALLED = re.compile(r"(.+?) (\d+)\.(\d+)\S*")
_MAJOR_IN_NAME = re.compile(r" \d+$")
# What to install, as Debian and Red Hat call it.
_PACKAGES = {
    "Open MPI": "openmpi-bin (Debian, Ubuntu) or openmpi (Fedora, RHEL)",
    "MPICH": "mpich",
    "Intel MPI": "intel-oneapi-mpi (Intel's repository) or impi-rt (PyPI)",
}


@dataclass(frozen=True, kw_only=True)
class Mpi:
    """An MPI, as far as its versions decide whether two of them work together."""

    name: str
    major: int
    minor: int


def called(version_text: str) -> str:
    """Call an MPI by name and version: `MPICH 4.0.2`; one that is not known by its own first line.

    Args:
        version_text: what `mpirun --version` says; nothing where there is no mpirun.
    """
    for dialect in DIALECTS:
        version = dialect.recognise(version_text)
        if version is not None:
            # There is a dialect for each major version of Open MPI; the version tells that itself.
            return f"{_MAJOR_IN_NAME.sub('', dialect.NAME)} {version}"
    return version_text.strip().partition("\n")[0].strip()


def daemons(version_text: str) -> tuple[str, ...]:
    """Name the daemons of an MPI; none where it is not known."""
    for dialect in DIALECTS:
        if dialect.recognise(version_text) is not None:
            return dialect.DAEMONS
    return ()


def parsed(text: str) -> Mpi | None:
    """Read what `called` wrote; None for an MPI that is not known."""
    found = _CALLED.fullmatch(text)
    if found is None or found[1] not in _PACKAGES:
        return None
    return Mpi(name=found[1], major=int(found[2]), minor=int(found[3]))


def needs(text: str) -> Needs | None:
    """Find what an MPI needs that `called` wrote down; None for one that is not known."""
    found = parsed(text)
    if found is None:
        return None
    known = {one.NAME: one.NEEDS for one in DIALECTS}
    newest = "Open MPI 5" if found.name == "Open MPI" else found.name
    return known.get(f"{found.name} {found.major}") or known[newest]


def check(hosts: Sequence[Party], mpi: str, mpirun: str, *, by_path: bool) -> list[str]:
    """Compare the MPI of each worker with the launcher's.

    Args:
        hosts: launcher and workers.
        mpi: name and version of the launcher's, as `called` writes them.
        mpirun: its path.
        by_path: whether mpirun is called by a path that tells its daemons where they are: what is
            on a worker's PATH need not be what will run there.

    Returns:
        what a person should know although the job may run, one sentence each.

    Raises:
        ConfigError: a worker has no MPI, no daemon, or another MPI than the launcher.
    """
    ours = parsed(mpi)
    workers = [host for host in hosts if not host.here]
    notes = [_plain(workers)] if _plain(workers) else []
    faults, bare = [], []
    for host in workers:
        theirs = parsed(host.facts.mpi) if host.facts is not None else None
        if host.facts is None or ours is None:
            continue
        if lack(host.facts):
            bare.append(host)
        elif theirs is None:
            notes.append(f"{host.name} has an MPI that mpiboot does not know: {host.facts.mpi!r}")
        elif (theirs.name, theirs.major) != (ours.name, ours.major):
            faults.append(host)
        elif theirs.minor != ours.minor:
            notes.append(f"{host.name} has {host.facts.mpi}, the launcher {mpi}: use one version")
    if by_path:
        return notes + [_doubt(host, mpirun) for host in (*bare, *faults)]
    if bare and ours is not None:
        raise _no_mpi(bare, ours)
    if faults:
        raise ConfigError(
            f"launcher and workers have different MPIs:\n{_table(workers, mpi, mpirun)}",
            hint="use images with the same MPI, or name one that all have with --mpi-home",
        )
    return notes


def lack(facts: Facts) -> str:
    """Say what a worker lacks for a launcher that calls mpirun by name; empty where it has all."""
    if not facts.mpi_path:
        return "has no mpirun on its PATH"
    without = parsed(facts.mpi) is not None and not facts.daemon
    return f"has {facts.mpi_path} without its daemon" if without else ""


def package(mpi: str) -> str:
    """Name what to install for an MPI, called as `called` does; for another one all that are known."""
    known = parsed(mpi)
    return _PACKAGES[known.name] if known is not None else "; ".join(_PACKAGES.values())


def _plain(workers: Sequence[Party]) -> str:
    names = [host.name for host in workers if host.facts is None]
    return f"not known of {listed(names)}: no agent tells which MPI is there" if names else ""


def _doubt(host: Party, mpirun: str) -> str:
    has = (host.facts.mpi if host.facts else "") or "no mpirun"
    return f"{host.name} has {has} on its PATH; the job needs the MPI of {mpirun} there, too"


def _no_mpi(bare: Sequence[Party], ours: Mpi) -> ConfigError:
    first = bare[0]
    lacks = lack(first.facts) if first.facts else ""
    more = f" (and {len(bare) - 1} more)" if len(bare) > 1 else ""
    return ConfigError(
        f"{first.name}{more} {lacks}: {ours.name} cannot start ranks there",
        hint=f"install {_PACKAGES[ours.name]} in the workers' image, or set PATH there",
    )


def _table(workers: Sequence[Party], mpi: str, mpirun: str) -> str:
    rows = [("launcher", mpi, mpirun)]
    rows += [
        (host.name, host.facts.mpi, host.facts.mpi_path)
        for host in workers
        if host.facts is not None
    ]
    widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
    return "\n".join(f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows)


def wrapper(hosts: Sequence[Party]) -> tuple[tuple[str, ...], str]:
    """Find how the rank wrapper is called, where that is the same on all hosts.

    Returns:
        its words and nothing, or nothing and the reason.
    """
    first: tuple[Party, tuple[str, ...]] | None = None
    for host in hosts:
        if host.facts is None:
            return (), f"{host.name} is a plain sshd"
        if not host.facts.python or not host.facts.wrapper:
            return (), f"{host.name} does not tell where its mpiboot is"
        words = (host.facts.python, "-I", "-S", host.facts.wrapper)
        if first is None:
            first = host, words
        elif words != first[1]:
            return (), (
                f"{first[0].name} and {host.name} have mpiboot in different places:"
                f" {' '.join(first[1])}, {' '.join(words)}"
            )
    return (first[1], "") if first is not None else ((), "there are no hosts")
