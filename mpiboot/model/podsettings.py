"""Settings of how workers are called: by whom they are found, and by mpirun."""

from __future__ import annotations

from mpiboot.model.outputsettings import OutputSettings
from mpiboot.model.record import dataclass
from mpiboot.model.spec import LAUNCHER, LAUNCHING, setting


@dataclass(frozen=True, kw_only=True)
class PodSettings(OutputSettings):
    """What the user says of names; how many numbered pods there are is --workers."""

    pods: str = setting(
        "text",
        "",
        "StatefulSet, Indexed Job or replicated job of a JobSet whose pods are the workers; else this"
        " pod's own",
        roles=(LAUNCHER,),
        metavar="NAME",
    )
    service: str = setting(
        "text",
        "",
        "headless Service that publishes the pods' names, NAME or NAME.NAMESPACE; else this pod's"
        " subdomain",
        roles=(LAUNCHER,),
        metavar="NAME",
    )
    hostfile_names: str = setting(
        "text",
        "auto",
        "what mpirun's hostfile calls the workers: name, address, or auto: by name up to 64 workers,"
        " for Open MPI 4 looks each up four times, and by address where names differ only behind the"
        " first dot",
        roles=LAUNCHING,
        choices=("auto", "name", "address"),
        metavar="WHAT",
    )
