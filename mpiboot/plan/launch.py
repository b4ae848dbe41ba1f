"""Everything that is known → the launch plan: files, argv, environment, and the reason of each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect, Export, Request, Variable, Words
from mpiboot.plan import (
    agreement,
    discovery,
    networks,
    parties,
    passenv,
    program,
    rankenv,
    sshconf,
    takeover,
    wrapping,
)
from mpiboot.plan.layout import Layout, check_names
from mpiboot.plan.networks import Choice
from mpiboot.plan.program import Look
from mpiboot.plan.rankenv import Decision, Rules
from mpiboot.plan.wrapping import Wrapper


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the launcher's own container offers.

    Attributes:
        mpirun: how to call it.
        version: its version.
        mpi: name and version together, as workers tell theirs.
        hostname: the container's hostname.
        user: default login name on the workers.
        as_root: whether the agent runs as uid 0.
        directory: where the plan's files go.
        identity: path of the private user key.
        host_keys: `type base64` of each key that workers may show.
        known_hosts: text of the user's own known_hosts file.
        port: default port of the workers' sshd.
        own_address: address of this container as the workers reach it; empty when not known.
        facts: what this container tells of itself.
        standin: how the program behind the stand-ins is called.
        link: path of this agent's own socket.
        no_stdin: whether this program's stdin is /dev/null.
        nonce: a mark that no program can guess, for framed output.
        site_params: parameters of the site's own MCA file.
        environ: the environment for the job: the container's, less the agent's own variables.
    """

    mpirun: str
    version: str
    mpi: str
    hostname: str
    user: str
    as_root: bool
    directory: str
    identity: str
    host_keys: Sequence[str]
    known_hosts: str
    port: int
    own_address: str
    facts: Facts
    standin: Sequence[str]
    link: str
    no_stdin: bool
    nonce: str
    site_params: Mapping[str, str]
    environ: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """A file to write before mpirun starts."""

    path: str
    text: str
    reason: str
    mode: int = 0o600


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """What will be done, as data; its text is what `mpiboot plan` prints.

    Attributes:
        program: first word of the job's command.
        files: what is written before mpirun starts.
        words: mpirun's command line, in groups that have one reason each.
        variables: what is added to its environment for this MPI.
        environ: its environment.
        notes: what else a person should know.
        told: those of them that the log shows at once.
        kept: variables of this container that ranks do not get, each with the reason.
        wrapper: what each rank is started through; None: nothing.
        own: whether the job's command starts mpirun itself.
        pipe_stdout: whether mpirun gets a stdout of its own.
        ignore_sigpipe: whether mpirun dies where it should not, unless it ignores this signal.
    """

    program: str
    files: tuple[PlannedFile, ...]
    words: tuple[Words, ...]
    variables: tuple[Variable, ...]
    environ: Mapping[str, str]
    notes: tuple[str, ...]
    told: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    wrapper: Wrapper | None
    own: bool = False
    pipe_stdout: bool = False
    ignore_sigpipe: bool = False

    @property
    def argv(self) -> list[str]:
        """The command line of mpirun."""
        return [word for group in self.words for word in group.words]

    def text(self) -> str:
        """Show the plan, one line per step, each with its reason."""
        lines = [f"note   {note}" for note in self.notes]
        for file in self.files:
            lines.append(f"write  {file.path}  # {file.reason}")
            if file.mode == 0o600:
                lines += [f"       | {line}" for line in file.text.splitlines()]
        lines += [f"set    {one.name}={_shown(one)}  # {one.reason}" for one in self.variables]
        lines += [f"keep   {name}  # {reason}" for name, reason in self.kept]
        lines.append("exec")
        lines += [f"       {shlex.join(group.words)}  # {group.reason}" for group in self.words]
        return "\n".join(lines) + "\n"


def _shown(variable: Variable) -> str:
    """Quote a value as a shell would need it; one that may be a secret is not shown."""
    return "…" if passenv.is_secret(variable.name) else shlex.quote(variable.value)


def prepare(
    settings: Settings,
    command: Sequence[str],
    dialect: Dialect,
    ground: Ground,
    *,
    layout: Layout,
    facts: Sequence[Facts | None],
    look: Look | None = None,
) -> LaunchPlan:
    """Decide how mpirun is called.

    Raises:
        ConfigError: this MPI cannot bear a name, or cannot do what is wanted.
    """
    taken = takeover.take(
        ground.environ, given=settings.hostfile, own=f"{ground.directory}/hostfile"
    )
    ground = replace(ground, environ=taken.environ)
    check_names(dialect, ground.hostname, layout.nodes)
    hosts = parties.parties(layout.places, facts, ground.facts, ground.own_address)
    notes = agreement.check(hosts, ground.mpi, ground.mpirun, by_path="/" in ground.mpirun)
    choice = networks.choose(hosts, (settings.interface,) if settings.interface else ())
    rdma = any(one is None or one.rdma is not False for one in facts)
    wrapper, unwrapped = wrapping.decide(
        settings, dialect, ground, hosts=hosts, layout=layout, choice=choice, rdma=rdma
    )
    exports, given = passenv.by_name(
        _exports(settings, dialect, ground, facts=facts, choice=choice, rdma=rdma)
    )
    own = {wrapping.LINK: ground.link} if wrapper is not None else {}  # for ranks of this container
    own[discovery.VARIABLE] = discovery.path(settings, ground.directory)
    environ = {**ground.environ, **own, **{one.name: one.value for one in given}}
    request = _request(
        settings, ground, layout, facts,
        wrapped=wrapper is not None,
        no_stdin=ground.no_stdin or (wrapper is not None and bool(wrapper.feeds)),
        exports=exports, environ=environ, choice=choice,
    )  # fmt: skip
    if look is not None and settings.abort_on_exception:
        command = program.command(command, look)
    request = replace(request, command=wrapping.command(wrapper, command))
    refused = dialect.unsupported(request)
    if refused:
        raise ConfigError("; ".join(refused))
    called = dialect.invocation(request)
    variables = (*given, *called.variables)
    kept = _kept(settings, dialect, ground, facts)
    told = _told(layout, facts, choice, notes, kept)
    notes = [*_notes(dialect, ground, layout, facts), f"network: {choice.reason}"]
    notes += [*taken.notes, *told]
    return LaunchPlan(
        program=command[0],
        files=files(settings, dialect, ground, layout),
        words=called.words,
        variables=variables,
        environ={**environ, **{one.name: one.value for one in called.variables}},
        notes=tuple(notes + ([unwrapped] if unwrapped else [])),
        told=tuple(filter(None, (*told, wrapping.unheard(settings)))),
        kept=tuple((one.name, one.reason) for one in kept),
        wrapper=wrapper,
        pipe_stdout=dialect.SPOILS_STDOUT,
        ignore_sigpipe=dialect.DIES_OF_SIGPIPE,
    )


def _told(
    layout: Layout,
    facts: Sequence[Facts | None],
    choice: Choice,
    notes: Sequence[str],
    kept: Sequence[Decision],
) -> list[str]:
    """Choose what the log shows at once."""
    return [
        *_crowds(layout, facts),
        *([f"network {choice.reason}"] if choice.cidrs or choice.included else []),
        *notes,
        *(f"{one.name}: {one.reason}" for one in kept if one.wanted),
    ]


def _request(
    settings: Settings,
    ground: Ground,
    layout: Layout,
    facts: Sequence[Facts | None],
    *,
    wrapped: bool,
    no_stdin: bool,
    exports: Sequence[Export],
    environ: Mapping[str, str],
    choice: Choice,
) -> Request:
    horovod = settings.profile == "horovod"
    crowded = bool(_crowds(layout, facts))
    # A bare Open MPI 5 binds to cores, and gives up where there are fewer of them than slots.
    why = "Horovod: threads of a rank use all its CPUs" if horovod else "more ranks than CPUs"
    free = horovod or crowded or settings.oversubscribe
    return Request(
        mpirun=ground.mpirun,
        hostfile=f"{ground.directory}/hostfile",
        ssh_config=f"{ground.directory}/ssh_config",
        rsh_agent=settings.rsh_agent,
        np=layout.np,
        nodes=len(layout.places),
        as_root=ground.as_root,
        dotted_names=layout.dotted_names,
        horovod=horovod,
        bind_to=settings.bind_to or ("none" if free else ""),
        why_bound="yours" if settings.bind_to else why,
        map_by=settings.map_by or ("slot" if horovod else ""),
        uneven=len({place.slots for place in layout.places}) > 1,
        oversubscribe=settings.oversubscribe,
        networks=choice.included,
        interface=choice.name,
        own_address=ground.own_address,
        own_interface=interface_of(ground),
        busy=crowded or settings.oversubscribe,
        no_cma=any(one is None or one.cma is False for one in facts),
        tag_output=settings.tag_output and not wrapped,
        timestamp_output=settings.timestamp_output and not wrapped,
        no_stdin=no_stdin,
        wdir="" if wrapped else settings.wdir,
        mca=settings.mca,
        mpirun_args=settings.mpirun_arg,
        exports=exports,
        environ=environ,
        site_params=ground.site_params,
        command=(),
    )


def _crowds(layout: Layout, facts: Sequence[Facts | None]) -> list[str]:
    """Name the workers that have fewer CPUs than slots: spinning ranks would starve each other."""
    return [
        f"{place.name} has {one.cpus:g} CPUs for {place.slots} slots: waiting ranks let others run"
        for one, place in zip(facts, layout.places, strict=True)
        if one is not None and 0 < one.cpus < place.slots
    ]


def _kept(
    settings: Settings, dialect: Dialect, ground: Ground, facts: Sequence[Facts | None]
) -> list[Decision]:
    """Find the variables that stay here, with the rule that keeps each."""
    found = rankenv.rank_environment(
        ground.environ, settings.export, facts, _rules(settings, dialect)
    )
    return [one for one in found if not one.passed]


def _rules(settings: Settings, dialect: Dialect) -> Rules:
    return Rules(
        allow=settings.rank_env_allow,
        deny=settings.rank_env_deny,
        listed=dialect.FAMILY == "mpich",
    )


def interface_of(ground: Ground) -> str:
    """Name the interface that has the address at which workers see this container."""
    for net in ground.facts.networks:
        if net.cidr.partition("/")[0] == ground.own_address:
            return net.name
    return ""


def _exports(
    settings: Settings,
    dialect: Dialect,
    ground: Ground,
    *,
    facts: Sequence[Facts | None],
    choice: Choice,
    rdma: bool,
) -> list[Export]:
    """Choose the ranks' variables: by the rules, and those that name a chosen interface."""
    horovod = settings.profile == "horovod"
    rules = _rules(settings, dialect)
    found = passenv.exports(settings.export, ground.environ, facts, rules, horovod=horovod)
    named = {one.name for one in found} | set(ground.environ)
    told = networks.variables(choice, rdma=rdma, given=named)
    reason = "the network on which the hosts reach each other"
    return found + [Export(name=name, value=value, reason=reason) for name, value in told.items()]


def files(
    settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> tuple[PlannedFile, ...]:
    """Plan the files by which workers are reached; a program in place of ssh needs the first only."""
    hostfile = PlannedFile(
        path=f"{ground.directory}/hostfile",
        text=dialect.hostfile(layout.nodes, settings.map_by),
        reason=f"{len(layout.places)} workers, {layout.total_slots} slots",
    )
    if settings.rsh_agent:
        return (hostfile,)
    known = f"{ground.directory}/known_hosts"
    config = sshconf.ssh_config(
        layout.places,
        user=settings.ssh_user or ground.user,
        port=ground.port,
        identity=ground.identity,
        known_hosts=known,
    )
    return (
        hostfile,
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
    return notes
