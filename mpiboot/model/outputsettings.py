"""Settings of the ranks' output: its form, whose is shown, and where it goes."""

from __future__ import annotations

from mpiboot.model.jobsettings import JobSettings
from mpiboot.model.record import dataclass
from mpiboot.model.spec import LAUNCHING, setting


@dataclass(frozen=True, kw_only=True)
class OutputSettings(JobSettings):
    """What the user wants to see of the ranks, the same on every MPI."""

    tag_output: bool = setting(
        "flag",
        False,
        "put [rank] before each line of the ranks' output; lines stay whole, and no two ranks write in"
        " one",
        roles=LAUNCHING,
    )
    timestamp_output: bool = setting(
        "flag",
        False,
        "put the time at which it was written before each line of the ranks' output",
        roles=LAUNCHING,
    )
    output_dir: str = setting(
        "path",
        "",
        "directory in the launcher's container that gets rank.N.out and rank.N.err of each rank",
        roles=LAUNCHING,
        metavar="DIR",
    )
    output_max_mb: int = setting(
        "int",
        0,
        "MiB at which a file of --output-dir is full: at the end of a line it becomes rank.N.out.1, and"
        " a new one begins; 0: it grows",
        roles=LAUNCHING,
        least=0,
        most=1_048_576,
        metavar="N",
    )
    output_keep: int = setting(
        "int",
        3,
        "how many full files of each rank's output stay beside the one that grows",
        roles=LAUNCHING,
        least=0,
        most=1000,
        metavar="N",
    )
    output_format: str = setting(
        "text",
        "text",
        "form of what ranks and mpirun write: text, as it is, or json, one object a line",
        roles=LAUNCHING,
        choices=("text", "json"),
        metavar="FORM",
    )
    show_ranks: str = setting(
        "ranks",
        "all",
        "whose output is shown: all, none, first, or ranks as 0,8-15; files get that of all",
        roles=LAUNCHING,
        metavar="RANKS",
    )
    log_file: str = setting(
        "path",
        "",
        "file that gets a copy of the job's output",
        roles=LAUNCHING,
        metavar="FILE",
    )
