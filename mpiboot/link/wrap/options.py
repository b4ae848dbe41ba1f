"""What the launcher wants of the wrapper."""

from __future__ import annotations

import os

from mpiboot.link.wrap import compact
from mpiboot.link.wrap.errors import CannotRunError

_BAD_CONFIGURATION = 78


class Options:
    """The options, read.

    Attributes:
        directory: where the program is to run; empty: where the wrapper is.
        nonce: mark of this job's output frames; empty: the output is the program's own business.
        named: whether output is to say on which host it was written.
        stdin: names the pipe with rank 0's stdin; empty: it comes from mpirun.
        family: of the MPI that started us, `openmpi` or `mpich`; empty: it does not matter.
        networks: the job's networks, best first.
        interface_variables: what shall name this host's interface in one of them.

    Args:
        text: a JSON object.
    """

    def __init__(self, text: str) -> None:
        given = compact.read(text)
        self.directory = _text(given.get("wdir"))
        self.nonce = _text(given.get("out"))
        self.named = given.get("host") is True
        self.stdin = _text(given.get("in"))
        self.family = _text(given.get("mpi"))
        self.networks = _texts(given.get("net"))
        self.interface_variables = _texts(given.get("ifvars"))

    def apply(self, env: dict[bytes, bytes]) -> None:
        """Change to the directory, and add to the program's environment.

        Raises:
            CannotRunError: there is no such directory.
        """
        unset = [os.fsencode(name) for name in self.interface_variables]
        unset = [name for name in unset if name not in env]
        if self.networks and unset:
            from mpiboot.link.wrap.networks import interface

            found = interface(self.networks)
            env.update(dict.fromkeys(unset, os.fsencode(found)) if found else {})
        if self.directory:
            _enter(self.directory)


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as fault:
        reason = os.strerror(fault.errno or 0).lower()
        text = f"cannot enter the working directory {directory}: {reason}; make it on every host"
        raise CannotRunError(_BAD_CONFIGURATION, "no directory", text) from None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [_text(one) for one in value] if isinstance(value, list) else []
