"""A launch plan as data, and the text of it that people read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from mpiboot.model.record import dataclass
from mpiboot.mpi.protocol import Variable, Words
from mpiboot.plan import neighbours, passenv
from mpiboot.plan.wrapping import Wrapper


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
        warned: what limits of the containers may break.
        shm_bytes: size of /dev/shm by host, where it is known.
        kept: variables of this container that ranks do not get, each with the reason.
        wrapper: what each rank is started through; None: nothing.
        own: whether the job's command starts mpirun itself.
        pipe_stdout: whether mpirun gets a stdout of its own.
        ignore_sigpipe: whether mpirun dies where it should not, unless it ignores this signal.
        open_files: soft limit of open files for mpirun; None: it has ours.
        dvm: directory of the daemons that stay between its mpiruns; empty: none stay.
        port_check: what comes of workers that do not reach each other.
    """

    program: str
    files: tuple[PlannedFile, ...]
    words: tuple[Words, ...]
    variables: tuple[Variable, ...]
    environ: Mapping[str, str]
    notes: tuple[str, ...]
    told: tuple[str, ...]
    warned: tuple[str, ...]
    shm_bytes: Mapping[str, int]
    kept: tuple[tuple[str, str], ...]
    wrapper: Wrapper | None
    own: bool = False
    pipe_stdout: bool = False
    ignore_sigpipe: bool = False
    open_files: int | None = None
    dvm: str = ""
    port_check: str = neighbours.WARN

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
