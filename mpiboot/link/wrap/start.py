"""Start the program as this process would have become it: signals, descriptors, environment.

The program must not outlive the wrapper, and it must not see that there is one.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # half of `signal`, without its enums
import errno
import os

from mpiboot.link.wrap.errors import CannotRunError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
# What may be sent to a rank on purpose. The kernel sends the others to the one they concern.
FORWARDED = (
    _signal.SIGHUP,
    _signal.SIGINT,
    _signal.SIGQUIT,
    _signal.SIGTERM,
    _signal.SIGUSR1,
    _signal.SIGUSR2,
    _signal.SIGALRM,
    _signal.SIGTSTP,
    _signal.SIGCONT,
    _signal.SIGWINCH,
)


class Program:
    """The program, running in the wrapper's own process group.

    Signals to the group reach it without the wrapper's help, which only has to survive them.

    Attributes:
        pid: its process id.
        wakeup: readable when a signal has come; each byte is the number of one.

    Args:
        argv: the program and its arguments.
        env: its environment.
        fds: what becomes its stdout and stderr; None: the wrapper's own.

    Raises:
        CannotRunError: it could not be executed.
    """

    def __init__(
        self, argv: list[bytes], env: dict[bytes, bytes], fds: tuple[int, int] | None
    ) -> None:
        self.wakeup, wakeup = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        told, tell = os.pipe2(os.O_CLOEXEC)
        set_death_signal = _death_signal()
        wrapper = os.getpid()
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        former = _listen()
        self.pid = _fork()
        if self.pid == 0:
            try:
                set_death_signal()
                if os.getppid() == wrapper:
                    _restore(former, mask)
                    _execute(argv, env, fds, tell)
            finally:
                os._exit(127)
        os.close(tell)
        _signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, _signal.valid_signals() - set(former))
        fault = os.read(told, 4096 + 16)
        os.close(told)
        if fault:
            os.waitpid(self.pid, 0)
            raise _explain(argv[0], fault)

    def forward(self, number: int) -> None:
        """Hand a signal on to a program that has left our process group, as `timeout` does."""
        try:
            group = os.getpgid(self.pid)
            if group == self.pid:
                os.killpg(group, number)
            elif group != os.getpgrp():
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass

    def ended(self) -> int | None:
        """Return its wait status once it has ended; call again only if it had not."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return status if pid else None


def environment() -> dict[bytes, bytes]:
    """Return the environment as it was handed over.

    In the C locale the interpreter adds LC_CTYPE to its own.
    """
    try:
        with open("/proc/self/environ", "rb", buffering=0) as file:
            entries = file.readall().split(b"\0")
    except OSError:
        return dict(os.environb)
    pairs = (entry.partition(b"=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs}


def _death_signal() -> Callable[[], object]:
    """Return what makes the kernel kill the caller with its parent.

    `ctypes` takes 3 ms to import, the C half of it half of one; a Python may have been built without.
    """
    try:
        import _ctypes
    except ImportError:
        return lambda: None
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    return lambda: _ctypes.call_function(prctl, (_PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0))


def _listen() -> dict[int, object]:
    """Get ready to survive what a rank may be sent; return what would have happened instead.

    Before the fork: where SIGCHLD was ignored, the end of a child would go by unseen.
    """
    former = {number: _signal.getsignal(number) for number in (*FORWARDED, _signal.SIGCHLD)}
    for number in former:
        _signal.signal(number, lambda *_: None)
    return former


def _fork() -> int:
    try:
        return os.fork()
    except OSError as fault:
        reason = os.strerror(fault.errno or 0).lower()
        text = (
            f"no process can be made for it: {reason}; raise the limit of processes (docker:"
            " --pids-limit; Kubernetes: podPidsLimit) or of memory"
        )
        raise CannotRunError(126, "not executable", text) from None


def _restore(former: dict[int, object], mask: set[int]) -> None:
    """Give the program the dispositions and the mask that the wrapper was started with.

    What was ignored stays ignored. PIPE and XFSZ the interpreter itself ignores: whether its parent
    did, nobody can tell any more.
    """
    for number, handler in former.items():
        ignored = handler == _signal.SIG_IGN
        _signal.signal(number, _signal.SIG_IGN if ignored else _signal.SIG_DFL)
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)


def _execute(
    argv: list[bytes], env: dict[bytes, bytes], fds: tuple[int, int] | None, tell: int
) -> None:
    """Become the program, found as execvp(3) finds it, or tell the wrapper why not."""
    if fds is not None:
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
    fault = errno.ENOENT, argv[0]
    for path in _candidates(argv[0], env):
        try:
            os.execve(path, argv, env)  # noqa: S606 - argv is a list
        except OSError as refused:
            number = refused.errno or errno.EIO
            absent = number in (errno.ENOENT, errno.ENOTDIR) and not os.path.lexists(path)
            if not absent:
                fault = number, path
                if number != errno.EACCES:
                    break
    os.write(tell, b"%d %b" % fault)


def _candidates(program: bytes, env: dict[bytes, bytes]) -> list[bytes]:
    if b"/" in program:
        return [program]
    places = env.get(b"PATH", os.defpath.encode()).split(b":")
    return [os.path.join(place or b".", program) for place in places]


def _explain(program: bytes, fault: bytes) -> CannotRunError:
    """Say why the program did not start, and what to change."""
    number, _, place = fault.partition(b" ")
    name, path = os.fsdecode(program), os.fsdecode(place)
    match int(number):
        case errno.ENOENT | errno.ENOTDIR if not os.path.exists(place):
            where = "there" if "/" in name else "on PATH"
            hint = (
                f"{name} was not found {where}; install it in this container, or correct its path"
            )
            return CannotRunError(127, "not found", hint)
        case errno.ENOENT:
            reason = "its interpreter or loader is missing; install that, or correct the first line"
        case errno.ENOEXEC:
            reason = "it is no program for this machine; a script begins with #! and an interpreter"
        case errno.EACCES if os.path.isdir(place):
            reason = "it is a directory; name the program in it"
        case errno.EACCES:
            reason = "permission is denied; chmod +x it, and mount its file system without noexec"
        case other:
            reason = f"{os.strerror(other).lower()}; run it by hand in this container"
    return CannotRunError(126, "not executable", f"{path} cannot be executed: {reason}")
