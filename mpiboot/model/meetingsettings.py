"""Settings of how launcher and workers find each other where no list and no name tells."""

from __future__ import annotations

from mpiboot.model.announced import MAX_NODES
from mpiboot.model.lifesettings import LifeSettings
from mpiboot.model.record import dataclass
from mpiboot.model.spec import LAUNCHER, WORKER, setting


@dataclass(frozen=True, kw_only=True)
class MeetingSettings(LifeSettings):
    """What the user says of who tells whom."""

    host_script: str = setting(
        "text",
        "",
        "program, in words as a shell has them, that prints the workers as a hostfile has them; it is"
        " run until it names as many as --workers says",
        roles=(LAUNCHER,),
        metavar="COMMAND",
    )
    announce_to: str = setting(
        "text",
        "",
        "the launcher, HOST or HOST:PORT, to which this worker announces itself over SSH until it has"
        " been called back; the launcher has --hosts announce:N",
        roles=(WORKER,),
        metavar="HOST",
    )
    announce_index: int = setting(
        "int",
        -1,
        "number of this node among those that announce themselves, which is its place in the hostfile;"
        " -1: none, after those that have one, by address",
        roles=(WORKER,),
        least=-1,
        most=MAX_NODES - 1,
        metavar="N",
    )
    ssh_from: tuple[str, ...] = setting(
        "sources",
        (),
        "networks, addresses or patterns of addresses (10.1.*) from which logins may come, and this"
        " container's own; none: from everywhere",
        metavar="NETWORK",
    )
    ssh_pty: bool = setting(
        "flag",
        False,
        "give a terminal to people who log in with the job's key and ask for one",
    )
