"""A launch plan as data, and the text of it that people read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from mpiboot.model.record import dataclass
from mpiboot.mpi.protocol import Variable, Words
from mpiboot.plan import neighbours, passenv
from mpiboot.plan.sharing import Sharing
from mpiboot.plan.wrapping import Wrapper


@dataclass(frozen=True, kw_only=True)
class PlannedFile:
    """A file to write before mpirun starts."""

    path: str
    text: str
    reason: str
    mode: int = 0o600


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of a plan.

    Attributes:
        kind: note, write, set, keep or exec.
        text: what is done.
        reason: why; empty for a note.
        lines: text of a file that nobody else can read.
    """

    kind: str
    text: str
    reason: str = ""
    lines: tuple[str, ...] = ()


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
        sharing: what the ranks leave each other of the workers' CPUs.
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
    sharing: Sharing
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

    def steps(self) -> list[Step]:
        """List what will be done, in order, each with its reason."""
        files = [
            Step(
                kind="write", text=file.path, reason=file.reason,
                lines=tuple(file.text.splitlines()) if file.mode == 0o600 else (),
            )
            for file in self.files
        ]  # fmt: skip
        return [
            *(Step(kind="note", text=note) for note in self.notes),
            *files,
            *(
                Step(kind="set", text=f"{v.name}={_shown(v)}", reason=v.reason)
                for v in self.variables
            ),
            *(Step(kind="keep", text=name, reason=reason) for name, reason in self.kept),
            *(Step(kind="exec", text=shlex.join(g.words), reason=g.reason) for g in self.words),
        ]

    def text(self) -> str:
        """Show the plan, one line per step, each with its reason."""
        lines, called = [], False
        for step in self.steps():
            if step.kind == "exec" and not called:
                lines.append("exec")
                called = True
            kind = "" if step.kind == "exec" else step.kind
            reason = f"  # {step.reason}" if step.kind != "note" else ""
            lines.append(f"{kind:<7}{step.text}{reason}")
            lines += [f"       | {line}" for line in step.lines]
        return "\n".join(lines) + "\n"


def _shown(variable: Variable) -> str:
    """Quote a value as a shell would need it; one that may be a secret is not shown."""
    return "…" if passenv.is_secret(variable.name) else shlex.quote(variable.value)
