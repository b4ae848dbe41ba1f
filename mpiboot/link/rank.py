"""Run one rank's program as a child, and tell the agent and mpirun the truth about its end.

`PYTHON -I -S rank.py OPTIONS PROGRAM ARGS…`. The same on every MPI: exit codes, who failed first,
output that can be told apart, and proof that the program was started at all. OPTIONS is one JSON
object: `wdir`, `in`, `out`, `host`, `net` and `ifvars`, `mpi`. Each rank waits for this file, so it and what it
imports take nothing but small parts of the standard library.
"""

from __future__ import annotations

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from mpiboot.link.wrap import ending
from mpiboot.link.wrap.errors import CannotRunError
from mpiboot.link.wrap.options import Options
from mpiboot.link.wrap.report import Report
from mpiboot.link.wrap.start import Program, environment
from mpiboot.link.wrap.tail import Tail
from mpiboot.link.wrap.watch import Watch

TYPE_CHECKING = False  # `typing` itself would cost more than all of these
if TYPE_CHECKING:
    from typing import NoReturn

    from mpiboot.link.wrap.output import Output
    from mpiboot.link.wrap.passing import Passing

_WINDOW = 65536  # bytes of a rank's output that are kept until they have come


def main() -> NoReturn:
    """Run the program and end as it did."""
    env = environment()
    options = Options(sys.argv[1])
    rank, size = place(env)
    link = listening(env.pop(b"MPIBOOT_LINK", b""))
    report = Report(link, rank, size)
    pmi = env.get(b"PMI_FD", b"")
    said = Tail(link)
    try:
        options.apply(env)
        if options.stdin and rank == 0:
            from mpiboot.link.wrap import input  # noqa: A004 - most ranks need none

            input.take(link, options.stdin)
        output = through(options, report, b"PRTE_LAUNCHED" in env, said)
        argv = [os.fsencode(word) for word in sys.argv[2:]]
        program = Program(argv, env, output.ends if output is not None else None)
        said.pid = program.pid
        report.started(program.pid, output.err if output is not None else -1)
        watch = Watch(program, output, options.family)
        status = watch.run()
        watch.check(said.text() if status else "")
    except CannotRunError as fault:
        report.failed(fault)
        said.close()
        ending.end(fault.code, 0, pmi)
    code, number = ending.read(status)
    report.ended(code, number, said.text() if code else "")
    said.close()
    report.stay()
    ending.end(code, number, pmi)


def listening(link: bytes) -> bytes:
    """Return where this container's agent listens.

    A hydra that the user calls hands on its whole environment: the launcher's own agent is named there,
    which listens in another container.
    """
    directory, name = os.path.split(link)
    worker = os.path.join(os.path.dirname(directory), b"worker", name)
    return worker if directory and not os.path.exists(link) and os.path.exists(worker) else link


def place(env: dict[bytes, bytes]) -> tuple[int, int]:
    """Return rank and size as the process manager numbers them; -1 where it does not say."""
    for prefix in (b"OMPI_COMM_WORLD_", b"PMI_", b"PMIX_"):
        try:
            return int(env[prefix + b"RANK"]), int(env.get(prefix + b"SIZE", b"-1"))
        except (KeyError, ValueError):
            pass
    return -1, -1


def through(
    options: Options, report: Report, careless: bool, said: Tail
) -> Output | Passing | None:
    """Let the program's output go through us, as far as that is wanted.

    Args:
        options: with the mark of the frames; without it there are none.
        report: the way to the launcher.
        careless: whether mpirun loses output that comes too fast.
        said: keeps the end of what comes on stderr.
    """
    if options.nonce:
        from mpiboot.link.wrap.output import Output

        window = _WINDOW if careless else 0
        return Output(options.nonce, report, window, said, named=options.named)
    if not said.wanted:
        return None
    from mpiboot.link.wrap import passing

    return passing.Passing(said, report.unheard) if passing.possible() else None


if __name__ == "__main__":
    main()
