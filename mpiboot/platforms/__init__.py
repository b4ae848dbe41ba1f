"""Where am I, and who takes part? One module per platform behind a Protocol, asked in order."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

from mpiboot.errors import ConfigError, UsageError
from mpiboot.model.hosts import Source
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.platforms import (
    awsbatch,
    azurebatch,
    declared,
    dstack,
    hostlist,
    indexedjob,
    jobset,
    kubexec,
    leaderworkerset,
    mpioperator,
    sagemaker,
    skypilot,
    statefulset,
    trainer,
    volcano,
)
from mpiboot.platforms.protocol import Identity, Platform, Suggestion, Surroundings

# They tell hosts that the user named from those in the operator's file, whose path they suggest.
_OPERATED: tuple[Platform, ...] = (kubexec, mpioperator, trainer)
# What a node's own environment says of it goes before hosts that may be given to all nodes alike;
# who brings its own variables before those who share Kubernetes' with others.
PLATFORMS: tuple[Platform, ...] = (
    declared,
    *_OPERATED,
    awsbatch,
    sagemaker,
    azurebatch,
    dstack,
    skypilot,
    volcano,
    leaderworkerset,
    jobset,
    indexedjob,
    statefulset,
    hostlist,
)


def wanted_files(settings: Settings, env: Mapping[str, str]) -> tuple[str, ...]:
    """Name every file that a platform wants to see."""
    paths = (path for platform in PLATFORMS for path in platform.files(settings, env))
    return tuple(dict.fromkeys(paths))


def identify(around: Surroundings) -> Identity:
    """Tell which role this container has.

    Raises:
        UsageError: nothing tells.
    """
    for platform in PLATFORMS:
        identity = platform.identify(around)
        if identity is not None:
            return identity
    raise UsageError(
        "nothing tells whether this container is a worker or the launcher",
        hint="set MPIBOOT_ROLE=worker or MPIBOOT_ROLE=launcher, or start it as `mpiboot worker`"
        " or `mpiboot launcher -- CMD`",
    )


def place(around: Surroundings) -> str:
    """Name the platform that is seen here and by what, whatever the user says; empty where none is.

    Raises:
        ConfigError: what a platform says cannot be read.
    """
    said = {"role": "", "hosts": "", "hostfile": "", "host_script": ""}
    bare = replace(around, settings=replace(around.settings, **said))  # type: ignore[arg-type]
    for platform in PLATFORMS:
        identity = platform.identify(bare)
        if identity is not None:
            return f"{platform.NAME}: {identity.why}"
    return ""


def find_source(around: Surroundings) -> Source:
    """Tell who takes part.

    Raises:
        ConfigError: nothing tells, or what tells cannot be read.
    """
    for platform in (*_OPERATED, hostlist, *PLATFORMS):  # whom the user names goes first
        source = platform.source(around)
        if source is not None:
            return source
    raise ConfigError(
        "no workers are named",
        hint="give --hosts a:2,b:2, --hosts dns:NAME or --hostfile FILE",
    )


def suggest(around: Surroundings) -> dict[str, Suggestion]:
    """Collect what is usual here for settings, by field name; each says which platform it is."""
    found: dict[str, Suggestion] = {}
    for platform in PLATFORMS:
        for name, given in platform.suggest(around).items():
            why = f"{platform.NAME}: {given.why}"
            found.setdefault(name, Suggestion(value=given.value, why=why))
    return found


def elsewhere(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out what tells a container its place: programs of another place must not take it for theirs."""
    globs = {glob for platform in PLATFORMS for glob in platform.VARIABLES}
    return {
        name: value
        for name, value in env.items()
        if not any(fnmatch.fnmatchcase(name, glob) for glob in globs)
    }
