"""The launch plan where the job's command starts an MPI launcher itself: it is told, not wrapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect, Variable, Words
from mpiboot.plan import access, discovery, dvm, limits, ownjob, standins, wrapping
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import LaunchPlan, PlannedFile
from mpiboot.plan.layout import Layout
from mpiboot.plan.ownjob import Changes, Job
from mpiboot.plan.ownrun import Own

_NO_DVM = "--dvm has no effect: {}"
_TOLD = "tells the command's own launcher of hosts, ssh and root"


def plan(
    base: LaunchPlan,
    own: Own,
    settings: Settings,
    dialect: Dialect,
    ground: Ground,
    *,
    layout: Layout,
    command: Sequence[str],
    programs: Mapping[str, str],
) -> LaunchPlan:
    """Turn a plan into one that runs the command as it is.

    Args:
        base: the plan for a command without a launcher; its files serve here, too.
        own: the launcher in the command.
        settings: the user's.
        dialect: of the MPI that the launcher belongs to.
        ground: this container.
        layout: who runs what.
        command: the job.
        programs: path of the real program for each name that gets a stand-in.
    """
    job = _job(base, settings, dialect, ground, layout)
    changes = ownjob.environment(job, base.environ)
    place = standins.directory_of(ground.directory)
    variables = _variables(changes, place, base.environ.get("PATH", ""))
    words = list(command)
    if own.at is not None and own.name in programs:
        words[own.at] = f"{place}/{own.name}"
    lacks = settings.dvm and _no_dvm(base, settings, dialect, ground, layout)
    anew = _NO_DVM.format(lacks) if lacks else ""
    win = f"{own.name} stands in the command: flags that it has win"
    return replace(
        base,
        program=command[0],
        files=(*base.files, *_scripts(ground, programs, job)),
        words=(Words(words=tuple(words), reason=f"yours; it starts {own.name} itself"),),
        variables=variables,
        environ={**base.environ, **{one.name: one.value for one in variables}},
        notes=(*base.notes, *changes.notes, win),
        told=tuple(
            filter(None, (*base.sharing.crowds, *changes.notes, wrapping.unheard(settings), anew))
        ),
        kept=(),
        own=True,
        ignore_sigpipe=False,
        open_files=_open_files(dialect, ground, layout),
        dvm=job.dvm,
    )


def unneeded(plan: LaunchPlan, settings: Settings) -> LaunchPlan:
    """Complete the plan for a command without a launcher: it has no use for what is planned here."""
    if not settings.dvm:
        return plan
    return replace(plan, told=(*plan.told, _NO_DVM.format("the command calls no mpirun itself")))


def _no_dvm(
    base: LaunchPlan, settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> str:
    """Tell why daemons cannot stay between the command's mpiruns; empty where they can."""
    return dvm.missing(
        dialect=dialect.NAME,
        program=ground.prte,
        wrapped=base.wrapper is not None,
        elastic=settings.elastic,
        rsh_agent=bool(settings.rsh_agent),
        here=any(not place.address for place in layout.places),
    )


def _open_files(dialect: Dialect, ground: Ground, layout: Layout) -> int | None:
    """Choose a limit of open files under which the command can do anything else, too."""
    if not dialect.CLOSES_EACH:
        return None
    return limits.files_of_mpirun(ground.facts.nofile, len(layout.places), ranks_here=True)


def _variables(changes: Changes, place: str, path: str) -> tuple[Variable, ...]:
    told = (
        Variable(name=name, value=value, reason=_TOLD) for name, value in changes.variables.items()
    )
    return (*told, Variable(name="PATH", value=f"{place}:{path}", reason="stand-ins come first"))


def access_anew(
    made: LaunchPlan,
    settings: Settings,
    dialect: Dialect,
    ground: Ground,
    *,
    layout: Layout,
    programs: Mapping[str, str],
) -> tuple[PlannedFile, ...]:
    """Plan anew the files by which a running command reaches the workers, when there are others.

    Args:
        made: the plan by which the command was started.
        settings: the user's.
        dialect: of the MPI that the launcher belongs to.
        ground: this container, as it was.
        layout: who can be reached now.
        programs: path of the real program for each name that has a stand-in.
    """
    job = _job(made, settings, dialect, ground, layout)
    files = access.files(settings, dialect, ground, layout)
    return (*files, *_scripts(ground, programs, job))


def _scripts(ground: Ground, programs: Mapping[str, str], job: Job) -> list[PlannedFile]:
    return [
        PlannedFile(path=one.path, text=one.text, mode=one.mode, reason="a stand-in, or its data")
        for one in standins.lay_out(ground.directory, programs, job, ground.standin)
    ]


def _job(
    base: LaunchPlan, settings: Settings, dialect: Dialect, ground: Ground, layout: Layout
) -> Job:
    stays = settings.dvm and not _no_dvm(base, settings, dialect, ground, layout)
    return Job(
        dialect=dialect.NAME,
        version=ground.version,
        hostfile=f"{ground.directory}/hostfile",
        ssh_config="" if settings.rsh_agent else f"{ground.directory}/ssh_config",
        rsh_agent=settings.rsh_agent,
        given=settings.hostfile,
        np=layout.np,
        hosts=tuple((one.node, one.slots) for one in layout.places),
        names={one.name: one.node for one in layout.places if one.name != one.node},
        own_address=ground.own_address,
        own_interface=ground.own_interface,
        as_root=ground.as_root,
        dotted_names=layout.dotted_names,
        wrapper=wrapping.command(base.wrapper, ()),
        # What stand-ins say is mpirun's own stderr, which json output makes entries of.
        json_log=settings.log_format == "json" and settings.output_format != "json",
        ignore_sigpipe=dialect.DIES_OF_SIGPIPE,
        discovery=discovery.path(settings, ground.directory) if settings.elastic else "",
        busy=base.sharing.busy,
        unbound=base.sharing.unbound and not settings.bind_to,
        raw_output=wrapping.raw_output(dialect, ground, base.wrapper),
        dvm=f"{ground.directory}/{dvm.DIRECTORY}" if stays else "",
        prte=ground.prte if stays else "",
    )
