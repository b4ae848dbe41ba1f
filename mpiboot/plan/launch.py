"""Everything that is known → the launch plan: files, argv, environment, and the reason of each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import is_address
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect, Request, Words
from mpiboot.plan import passenv, sshconf
from mpiboot.plan.layout import Layout


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the launcher's own container offers.

    Attributes:
        mpirun: how to call it.
        version: its version.
        hostname: the container's hostname.
        user: default login name on the workers.
        as_root: whether the agent runs as uid 0.
        directory: where the plan's files go.
        identity: path of the private user key.
        host_keys: `type base64` of each key that workers may show.
        known_hosts: text of the user's own known_hosts file.
        port: default port of the workers' sshd.
        site_params: parameters of the site's own MCA file.
        environ: the environment for the job: the container's, less the agent's own variables.
    """

    mpirun: str
    version: str
    hostname: str
    user: str
    as_root: bool
    directory: str
    identity: str
    host_keys: Sequence[str]
    known_hosts: str
    port: int
    site_params: Mapping[str, str]
    environ: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """A file to write, 0600, before mpirun starts."""

    path: str
    text: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """What will be done, as data; its text is what `mpiboot plan` prints.

    Attributes:
        program: first word of the job's command.
        files: what is written before mpirun starts.
        words: mpirun's command line, in groups that have one reason each.
        environ: its environment.
        notes: what else a person should know.
    """

    program: str
    files: tuple[PlannedFile, ...]
    words: tuple[Words, ...]
    environ: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def argv(self) -> list[str]:
        """The command line of mpirun."""
        return [word for group in self.words for word in group.words]

    def text(self) -> str:
        """Show the plan, one line per step, each with its reason."""
        lines = [f"note   {note}" for note in self.notes]
        for file in self.files:
            lines.append(f"write  {file.path}  # {file.reason}")
            lines += [f"       | {line}" for line in file.text.splitlines()]
        lines.append("exec")
        lines += [f"       {shlex.join(group.words)}  # {group.reason}" for group in self.words]
        return "\n".join(lines) + "\n"


def prepare(
    settings: Settings,
    command: Sequence[str],
    dialect: Dialect,
    ground: Ground,
    *,
    layout: Layout,
    facts: Sequence[Facts | None],
) -> LaunchPlan:
    """Decide how mpirun is called.

    Raises:
        ConfigError: this MPI cannot bear a name.
    """
    fault = dialect.check_names(ground.hostname, layout.nodes)
    if fault:
        raise ConfigError(
            fault, hint="set another hostname for this container (docker: --hostname)"
        )
    directory = ground.directory
    files = _files(settings, dialect, ground, layout)
    exports = passenv.exports(settings.export, ground.environ, facts)
    request = Request(
        mpirun=ground.mpirun,
        hostfile=f"{directory}/hostfile",
        ssh_config=f"{directory}/ssh_config",
        np=layout.np,
        nodes=len(layout.places),
        as_root=ground.as_root,
        dotted_names=any(
            "." in place.node and not is_address(place.node) for place in layout.places
        ),
        mca=settings.mca,
        mpirun_args=settings.mpirun_arg,
        exports=exports,
        environ=ground.environ,
        site_params=ground.site_params,
        command=command,
    )
    return LaunchPlan(
        program=command[0],
        files=files,
        words=tuple(dialect.command(request)),
        environ=ground.environ,
        notes=tuple(_notes(settings, dialect, ground, layout, facts)),
    )


def _files(
    settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> tuple[PlannedFile, ...]:
    known = f"{ground.directory}/known_hosts"
    config = sshconf.ssh_config(
        layout.places,
        user=settings.ssh_user or ground.user,
        port=ground.port,
        identity=ground.identity,
        known_hosts=known,
    )
    return (
        PlannedFile(
            path=f"{ground.directory}/hostfile",
            text=dialect.hostfile(layout.nodes),
            reason=f"{len(layout.places)} workers, {layout.total_slots} slots",
        ),
        PlannedFile(
            path=f"{ground.directory}/ssh_config",
            text=config,
            reason="user, port, key and the address that answered, for each worker",
        ),
        PlannedFile(
            path=known,
            text=sshconf.known_hosts(ground.host_keys, layout.places, ground.known_hosts),
            reason="host keys of this job; no other host is believed",
        ),
    )


def _notes(
    settings: Settings,
    dialect: Dialect,
    ground: Ground,
    layout: Layout,
    facts: Sequence[Facts | None],
) -> list[str]:
    notes = [
        f"{dialect.NAME} ({ground.version}), {layout.np} ranks on {len(layout.places)} workers"
    ]
    notes += [
        f"{place.name}: {place.slots} slots ({place.why})"
        + (f", called {place.node}" if place.node != place.name else "")
        for place in layout.places
    ]
    notes += [
        f"{name} is not handed on: a worker's sessions have their own (force it with -x {name})"
        for name in passenv.kept_paths(ground.environ, facts)
    ]
    notes += [
        f"{name} is not set here, so it is not handed on"
        for name in passenv.unset_names(settings.export, ground.environ)
    ]
    return notes
