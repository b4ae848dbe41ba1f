"""Everything that is known → the launch plan: files, argv, environment, and the reason of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts
from mpiboot.model.record import dataclass, replace
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect, Export, Invocation, Request, Variable
from mpiboot.plan import (
    access,
    agreement,
    discovery,
    limits,
    neighbours,
    networks,
    parties,
    passenv,
    program,
    rankenv,
    remarks,
    sharing,
    takeover,
    wrapping,
)
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.layout import Layout, check_names
from mpiboot.plan.networks import Choice
from mpiboot.plan.parties import Party
from mpiboot.plan.program import Look
from mpiboot.plan.rankenv import Decision, Rules
from mpiboot.plan.sharing import Sharing
from mpiboot.plan.wrapping import Wrapper

_IN_COMMON = "workers of one machine: each would bind its ranks to the same CPUs"


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
    scene = _Scene(settings=settings, dialect=dialect, ground=ground, layout=layout, facts=facts)
    check_names(dialect, ground.hostname, layout.nodes)
    differing = scene.differing()
    wrapper, unwrapped = scene.wrapper()
    request, given = scene.request(wrapper)
    if look is not None and settings.abort_on_exception:
        command = program.command(command, look)
    called = _call(dialect, replace(request, command=wrapping.command(wrapper, command)))
    kept = scene.kept()
    told = remarks.told(scene.sharing.crowds, scene.choice, differing, kept)
    warned = scene.warned(wrapper)
    return LaunchPlan(
        program=command[0],
        files=access.files(settings, dialect, ground, layout),
        words=called.words,
        variables=(*given, *called.variables),
        environ={**request.environ, **{one.name: one.value for one in called.variables}},
        notes=scene.notes(*taken.notes, *told, *warned, unwrapped, scene.few_files),
        told=tuple(filter(None, (*told, wrapping.unheard(settings)))),
        warned=warned,
        shm_bytes=limits.shm_sizes(layout, facts),
        kept=tuple((one.name, one.reason) for one in kept),
        wrapper=wrapper,
        sharing=scene.sharing,
        pipe_stdout=dialect.SPOILS_STDOUT,
        ignore_sigpipe=dialect.DIES_OF_SIGPIPE,
        open_files=scene.open_files,
        port_check=scene.port_check(request, command),
    )


def _call(dialect: Dialect, request: Request) -> Invocation:
    refused = dialect.unsupported(request)
    if refused:
        raise ConfigError("; ".join(refused))
    return dialect.invocation(request)


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """All that a plan is made of, and what follows from it."""

    settings: Settings
    dialect: Dialect
    ground: Ground
    layout: Layout
    facts: Sequence[Facts | None]

    @cached_property
    def hosts(self) -> list[Party]:
        """The workers, and this container, as their networks and programs are compared."""
        ground = self.ground
        return parties.parties(self.layout.places, self.facts, ground.facts, ground.own_address)

    @cached_property
    def choice(self) -> Choice:
        """The network that the ranks use."""
        interface = self.settings.interface
        return networks.choose(self.hosts, (interface,) if interface else ())

    @cached_property
    def sharing(self) -> Sharing:
        """What the ranks leave each other of the workers' CPUs."""
        places, own = self.layout.places, self.ground.facts
        facts = [
            one if place.address else own for place, one in zip(places, self.facts, strict=True)
        ]
        return sharing.look(places, facts, oversubscribe=self.settings.oversubscribe)

    @property
    def rdma(self) -> bool:
        """Whether some worker may have a device for it."""
        return any(one is None or one.rdma is not False for one in self.facts)

    @property
    def horovod(self) -> bool:
        return self.settings.profile == "horovod"

    @property
    def rules(self) -> Rules:
        """By which ranks get variables."""
        return Rules(
            allow=self.settings.rank_env_allow,
            deny=self.settings.rank_env_deny,
            listed=self.dialect.FAMILY == "mpich",
        )

    @property
    def open_files(self) -> int | None:
        """How many files mpirun may open where that many numbers cost it time."""
        if not self.dialect.CLOSES_EACH:
            return None
        places = self.layout.places
        here = any(not place.address for place in places)
        return limits.files_of_mpirun(self.ground.facts.nofile, len(places), ranks_here=here)

    @property
    def few_files(self) -> str:
        """Say why mpirun may open fewer files than others here; empty: it may not."""
        if self.open_files is None:
            return ""
        return f"mpirun may open {self.open_files} files: it closes each number for each worker"

    def differing(self) -> list[str]:
        """Compare the MPIs of the hosts; what differs and does no harm is returned."""
        ground = self.ground
        return agreement.check(self.hosts, ground.mpi, ground.mpirun, by_path="/" in ground.mpirun)

    def notes(self, *more: str) -> tuple[str, ...]:
        """Say what a person should know, in the plan's order."""
        whole = remarks.whole(self.dialect, self.ground, self.layout, self.facts)
        return tuple(filter(None, (*whole, f"network: {self.choice.reason}", *more)))

    def wrapper(self) -> tuple[Wrapper | None, str]:
        """Decide through what ranks are started; without it, the reason."""
        return wrapping.decide(
            self.settings, self.dialect, self.ground, hosts=self.hosts, layout=self.layout,
            choice=self.choice, rdma=self.rdma,
        )  # fmt: skip

    def port_check(self, request: Request, command: Sequence[str]) -> str:
        """Decide what comes of workers that do not reach each other."""
        given = (*request.environ, *(one.name for one in request.exports), *request.mpirun_args)
        params = (*request.mca, *request.site_params, *command)  # it may have an mpirun of its own
        rdma = all(one is not None and one.rdma is True for one in self.facts)
        return neighbours.policy(
            self.settings.port_check, (*given, *params), rdma=rdma, elastic=self.settings.elastic
        )

    def warned(self, wrapper: Wrapper | None) -> tuple[str, ...]:
        """Say what limits of the containers may break, and what has no effect without a wrapper."""
        ground, needs = self.ground, self.dialect.NEEDS
        low = limits.warnings(self.layout, self.facts, ground.facts, needs)
        return tuple(filter(None, (*low, wrapping.unsorted(self.settings, wrapper))))

    def kept(self) -> list[Decision]:
        """Find the variables that stay here, with the rule that keeps each."""
        found = rankenv.rank_environment(
            self.ground.environ, self.settings.export, self.facts, self.rules
        )
        return [one for one in found if not one.passed]

    def request(self, wrapper: Wrapper | None) -> tuple[Request, Sequence[Variable]]:
        """Say what is asked of the MPI, and which variables it takes by name from its environment."""
        exports, given = passenv.by_name(self._exports())
        ground = self.ground
        own = {passenv.LINK: ground.link} if wrapper is not None else {}  # ranks of this container
        own[discovery.VARIABLE] = discovery.path(self.settings, ground.directory)
        environ = {**ground.environ, **own, **{one.name: one.value for one in given}}
        raw_output = wrapping.raw_output(self.dialect, ground, wrapper)
        request = replace(self._placed(environ, exports), raw_output=raw_output)
        if wrapper is None:
            return request, given
        # What the wrapper does, mpirun need not.
        no_stdin = request.no_stdin or bool(wrapper.feeds)
        quiet = replace(request, tag_output=False, timestamp_output=False, wdir="")
        return replace(quiet, no_stdin=no_stdin), given

    def _placed(self, environ: Mapping[str, str], exports: Sequence[Export]) -> Request:
        settings, ground, layout, choice = self.settings, self.ground, self.layout, self.choice
        busy = self.sharing.busy
        # A bare Open MPI 5 binds to cores, and gives up where there are fewer of them than slots.
        free = self.horovod or self.sharing.unbound
        threads = "Horovod: threads of a rank use all its CPUs"
        why = threads if self.horovod else "more ranks than CPUs" if busy else _IN_COMMON
        return Request(
            mpirun=ground.mpirun,
            hostfile=f"{ground.directory}/hostfile",
            ssh_config=f"{ground.directory}/ssh_config",
            rsh_agent=settings.rsh_agent,
            np=layout.np,
            nodes=len(layout.places),
            as_root=ground.as_root,
            dotted_names=layout.dotted_names,
            horovod=self.horovod,
            bind_to=settings.bind_to or ("none" if free else ""),
            why_bound="yours" if settings.bind_to else why,
            map_by=settings.map_by or ("slot" if self.horovod else ""),
            uneven=len({place.slots for place in layout.places}) > 1,
            oversubscribe=settings.oversubscribe,
            networks=choice.included,
            interface=choice.name,
            last_index=choice.last_index,
            own_address=ground.own_address,
            own_interface=ground.own_interface,
            busy=busy,
            no_cma=any(one is None or one.cma is False for one in self.facts),
            tag_output=settings.tag_output,
            timestamp_output=settings.timestamp_output,
            no_stdin=ground.no_stdin,
            wdir=settings.wdir,
            mca=settings.mca,
            mpirun_args=settings.mpirun_arg,
            exports=exports,
            environ=environ,
            site_params=ground.site_params,
            command=(),
        )

    def _exports(self) -> list[Export]:
        """Choose the ranks' variables: by the rules, and those that name a chosen interface."""
        found = passenv.exports(
            self.settings.export, self.ground.environ, self.facts, self.rules, horovod=self.horovod
        )
        named = {one.name for one in found} | set(self.ground.environ)
        told = networks.variables(self.choice, rdma=self.rdma, given=named)
        reason = "the network on which the hosts reach each other"
        return found + [
            Export(name=name, value=value, reason=reason) for name, value in told.items()
        ]
