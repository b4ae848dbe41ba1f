"""Look at the job's program while workers are awaited: it must belong to this MPI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mpiboot.errors import MpibootError
from mpiboot.log import logger
from mpiboot.plan import program
from mpiboot.plan.program import Look
from mpiboot.runtime import files, inspect
from mpiboot.runtime.children import Children

_LOOK_S = 20.0
_ELF = b"\x7fELF"
_MPI4PY = re.compile(r"\bmpi4py\b")


async def look(command: Sequence[str], env: Mapping[str, str], children: Children) -> Look:
    """Find out what the program is linked to; one that is not here tells nothing."""
    path = inspect.find_program(command[0], env)
    if path is None:
        return Look()
    try:
        found = program.script(command)
        if found is not None:
            # Only a script that names mpi4py loads its library: that may cost half a second.
            text = files.read_text(found.path) or ""
            words = ["library"] if _MPI4PY.search(text) else []
            argv = [path, "-c", program.PROBE, *words]
            done = await children.run(argv, timeout_s=_LOOK_S, env=env)
            return program.of_python(done.stdout, found)
        if files.begins_with(path, _ELF):
            done = await children.run(["ldd", path], timeout_s=_LOOK_S, env=env)
            return program.of_libraries(done.stdout.decode(errors="replace"))
    except MpibootError as fault:
        logger.debug("the job's program was not looked at: %s", fault)
    return Look()
