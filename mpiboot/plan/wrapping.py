"""Through what each rank is started: a small program that reports its end and keeps its lines whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mpiboot.model.record import dataclass, field
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Dialect
from mpiboot.plan import agreement, networks, passenv
from mpiboot.plan.ground import Ground
from mpiboot.plan.layout import Layout
from mpiboot.plan.networks import Choice
from mpiboot.plan.parties import Party


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """The program between mpirun's daemon and a rank.

    Attributes:
        argv: how it is called, the same on all hosts.
        options: what it is told; they stand in process lists.
        nonce: the mark of framed output; empty: the rank's output is not touched.
        feeds: node whose rank 0 gets its stdin past mpirun, by a login of our own; empty: none.
    """

    argv: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    nonce: str = ""
    feeds: str = ""

    def feeder(self, ssh_config: str) -> list[str]:
        """Return what copies our stdin to the pipe that rank 0's wrapper opens."""
        pipe = f"${{{passenv.LINK}%/*}}/stdin.{self.options['in']}"
        script = f'mkfifo -m 600 "{pipe}" 2>/dev/null; exec cat >"{pipe}"'
        return ["ssh", "-F", ssh_config, self.feeds, script]


def decide(
    settings: Settings,
    dialect: Dialect,
    ground: Ground,
    *,
    hosts: Sequence[Party],
    layout: Layout,
    choice: Choice,
    rdma: bool,
) -> tuple[Wrapper | None, str]:
    """Use the wrapper where all hosts have the same one.

    Returns:
        the wrapper, or None and the reason in words.
    """
    if settings.rsh_agent:
        return None, unheard(settings)
    argv, why = agreement.wrapper(hosts)
    if not settings.rank_wrapper:
        why = "--no-rank-wrapper"
    if why:
        return None, f"ranks are started without a wrapper: {why}"
    options: dict[str, object] = {"mpi": dialect.FAMILY}
    if choice.cidrs and not choice.name:
        # Each host calls it something else: found out on the spot.
        options["net"] = list(choice.cidrs)
        options["ifvars"] = list(networks.named(rdma=rdma))
    if settings.wdir:
        options["wdir"] = settings.wdir
    nonce = ground.nonce if needed_by(settings) else ""
    if nonce:
        options["out"] = nonce
        if settings.output_format == "json":
            options["host"] = True
    feeds = "" if ground.no_stdin or not dialect.LOSES_STDIN else _elsewhere(layout)
    if feeds:
        options["in"] = ground.nonce
    return Wrapper(argv=argv, options=options, nonce=nonce, feeds=feeds), ""


def needed_by(settings: Settings) -> list[str]:
    """Name what is wanted of the ranks' output that is to be told apart."""
    wanted = {
        "--tag-output": settings.tag_output,
        "--timestamp-output": settings.timestamp_output,
        "--output-dir": bool(settings.output_dir),
        "--output-format json": settings.output_format == "json",
        "--show-ranks": settings.show_ranks != "all",
    }
    return [flag for flag, given in wanted.items() if given]


def raw_output(dialect: Dialect, ground: Ground, wrapper: Wrapper | None) -> str:
    """Return what mpirun's `--output` needs so that half lines stay apart; frames are whole lines."""
    framed = wrapper is not None and wrapper.nonce
    return "" if framed else dialect.raw_output(ground.version)


def unsorted(settings: Settings, wrapper: Wrapper | None) -> str:
    """Say what has no effect where nobody tells ranks apart; empty: all has."""
    lost = [flag for flag in needed_by(settings) if flag in ("--output-dir", "--show-ranks")]
    if wrapper is not None or not lost:
        return ""
    return f"{' and '.join(lost)} without effect: ranks are started without their wrapper"


def unheard(settings: Settings) -> str:
    """Tell what a job without leases lacks; empty where there are leases."""
    if not settings.rsh_agent:
        return ""
    return (
        f"workers are reached through {settings.rsh_agent}, without leases: nobody but mpirun tells"
        " where ranks ran, and whether one or a worker was lost"
    )


def _elsewhere(layout: Layout) -> str:
    """Name the node of rank 0, where no rank can be in this very container; else empty."""
    here = any(not place.address for place in layout.places)
    return "" if here else layout.places[0].node


def command(wrapper: Wrapper | None, job: Sequence[str]) -> tuple[str, ...]:
    """Put the wrapper before the job."""
    if wrapper is None:
        return tuple(job)
    return (*wrapper.argv, json.dumps(wrapper.options, separators=(",", ":")), *job)
