"""Make one pod, then stay outside as its keeper: a script, never imported.

Run as `python -I -S enter.py ORDER_FD REPORT_FD`. It imports next to nothing (no `site`, no `typing`,
no `re`), because its start-up time is paid once per pod. The keeper wires the network, forks the
pod's PID 1 into new namespaces, and waits: it passes PID 1's exit code on (128 + n for signal n),
and kills PID 1, and with it the whole pod, as soon as the cluster's owner is gone.

The report is text: `pid N` once PID 1 exists, `failed CODE WHY` when something went wrong; end of
file means that the program has been exec'ed.
"""

# pathlib is not imported, see above:
# ruff: noqa: PTH102, PTH103, PTH110, PTH115, PTH116, PTH120, PTH211

from __future__ import annotations

import ctypes
import fcntl
import marshal
import os
import select
import signal
import stat
import struct
import sys

TYPE_CHECKING = False  # `typing` would cost a third of the start-up time
if TYPE_CHECKING:
    from mpiboot.local.order import Order

# <linux/sched.h>, <linux/mount.h>, <linux/prctl.h>, <linux/sockios.h>
NEW_MOUNT, NEW_UTS, NEW_IPC, NEW_PID, NEW_NET = (
    0x20000,
    0x4000000,
    0x8000000,
    0x20000000,
    0x40000000,
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
IFF_UP_RUNNING = 0x41
AF_INET, SOCK_DGRAM_CLOEXEC = 2, 2 | 0o2000000

LAUNCH_FAILED, NOT_EXECUTABLE, NOT_FOUND = 242, 126, 127

libc = ctypes.CDLL(None, use_errno=True)


class PodError(Exception):
    """A step failed; `code` is the exit code that says so."""

    def __init__(self, text: str, code: int = LAUNCH_FAILED) -> None:
        super().__init__(text)
        self.code = code


def call(what: str, name: str, *arguments: object) -> int:
    """Call a C library function and turn -1 into a PodError that says what was tried."""
    result: int = getattr(libc, name)(*arguments)
    if result == -1:
        raise PodError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def wire(order: Order, report: int) -> None:
    """Give this process a network namespace with `lo` and `eth0`, plugged into the hub."""
    call("new network namespace", "unshare", NEW_NET)
    argv = ["nsenter", f"--net=/proc/self/fd/{order['hub_fd']}", "ip", "link", "add", order["port"]]
    argv += ["up", "master", "hub", "type", "veth"]
    argv += ["peer", "name", "eth0", "netns", str(os.getpid())]
    actions = [(os.POSIX_SPAWN_DUP2, report, stream) for stream in (1, 2)]
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
    if os.waitpid(pid, 0)[1]:
        raise PodError(f"{' '.join(argv[2:])} failed")
    os.close(order["hub_fd"])
    configure(b"lo")
    configure(b"eth0", order["address"], order["netmask"])


def configure(interface: bytes, address: str = "", netmask: str = "") -> None:
    """Set an interface's IPv4 address, where one is given, and bring it up."""
    fd = call("socket", "socket", AF_INET, SOCK_DGRAM_CLOEXEC, 0)
    for code, quad in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, netmask)):
        if quad:
            octets = map(int, quad.split("."))
            fcntl.ioctl(fd, code, struct.pack("16sHH4B16x", interface, AF_INET, 0, *octets))
    fcntl.ioctl(fd, SIOCSIFFLAGS, struct.pack("16sH22x", interface, IFF_UP_RUNNING))
    os.close(fd)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount something, or say what could not be mounted."""
    texts = [text.encode() or None for text in (source, target, kind, data)]
    what = f"mount {kind or source} on {target}"
    call(what, "mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def copy_devices(source: str, target: str) -> None:
    """Make the host's character devices and links again in a private directory.

    The host's own /dev would do but for programs that create files there (a termination log).
    """
    for entry in os.scandir(source):
        place = f"{target}/{entry.name}"
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(entry.path), place)
        elif stat.S_ISCHR(info.st_mode):
            os.mknod(place, info.st_mode, info.st_rdev)
            os.chown(place, info.st_uid, info.st_gid)
        elif stat.S_ISDIR(info.st_mode) and info.st_dev == os.stat(source).st_dev:
            os.mkdir(place, info.st_mode)
            copy_devices(entry.path, place)


def mount_devices() -> None:
    """Give the pod a /dev of its own: the host's devices, private terminals and shared memory."""
    old = os.open("/dev", os.O_PATH | os.O_DIRECTORY)
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755")
    copy_devices(f"/proc/self/fd/{old}", "/dev")
    os.close(old)
    for name in ("pts", "shm"):
        os.makedirs(f"/dev/{name}", exist_ok=True)
    flags = MS_NOSUID | MS_NOEXEC
    mount("devpts", "/dev/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")  # noqa: S108 - a target


def ensure_target(target: str, private: list[str], *, directory: bool) -> None:
    """Create a missing mount target, but only where that cannot touch the host."""
    path = os.path.realpath(target)
    if os.path.exists(path):
        return
    if not any(path.startswith(f"{root}/") for root in private):
        raise PodError(f"{target} does not exist on this machine, so nothing can be mounted there")
    os.makedirs(path if directory else os.path.dirname(path), exist_ok=True)
    if not directory:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def mount_all(order: Order) -> None:
    """Lay out the pod's file system: the host's, with private places on top."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    # Sources are opened before anything covers them: they may lie in the host's /run.
    binds = []
    for source, target, read_only in order["binds"]:
        try:
            binds.append((os.open(source, os.O_PATH), source, target, read_only))
        except OSError as fault:
            raise PodError(f"bind {source}: {fault.strerror}") from None
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")
    mount_devices()
    private = ["/run", "/dev"]
    for target, options in order["tmpfs"]:
        ensure_target(target, private, directory=True)
        mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options)
        private.append(os.path.realpath(target))
    for fd, source, target, read_only in binds:
        ensure_target(target, private, directory=stat.S_ISDIR(os.stat(fd).st_mode))
        mount(f"/proc/self/fd/{fd}", target, flags=MS_BIND | MS_REC)
        if read_only:
            mount(source, target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def die_with(keeper: int) -> None:
    """Have the kernel kill this process when the keeper dies, also if it just did."""
    call("PR_SET_PDEATHSIG", "prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if select.select([keeper], [], [], 0)[0]:
        os._exit(128 + signal.SIGKILL)


def become_program(order: Order, keeper: int) -> None:
    """Turn PID 1 of the pod into the program; return only by an exception."""
    die_with(keeper)
    os.setsid()
    name = order["name"].encode()
    call(f"set the hostname to {order['name']}", "sethostname", name, len(name))
    os.umask(0)
    mount_all(order)
    os.umask(0o022)
    os.chdir(order["cwd"])
    if order["uid"] >= 0:
        os.setgroups([])
        os.setresgid(order["gid"], order["gid"], order["gid"])
        os.setresuid(order["uid"], order["uid"], order["uid"])
        die_with(keeper)  # a change of user clears the death signal
    # The interpreter and our caller's caller (nohup) leave ignored signals behind.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, order["blocked"])
    program = order["argv"][0]
    try:
        os.execvpe(program, order["argv"], order["env"])  # noqa: S606 - a list, no shell
    except (FileNotFoundError, NotADirectoryError):
        raise PodError(f"{program} was not found", NOT_FOUND) from None
    except OSError as fault:
        raise PodError(f"{program} cannot run: {fault.strerror}", NOT_EXECUTABLE) from None


def keep(owner: int, child: int) -> int:
    """Wait for PID 1 and return its exit code; kill it when the owner is gone."""
    end = os.pidfd_open(child)
    poll = select.poll()
    poll.register(end, select.POLLIN)
    poll.register(owner, select.POLLIN)
    if end not in [fd for fd, _ in poll.poll()]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def make(order: Order, report: int) -> int:
    """Make the pod and return its PID 1, which goes on to become the program."""
    wire(order, report)
    keeper = os.pidfd_open(os.getpid())
    call("new namespaces", "unshare", NEW_PID | NEW_MOUNT | NEW_UTS | NEW_IPC)
    child = os.fork()
    if not child:
        become_program(order, keeper)
    return child


def main(order_fd: int, report: int) -> int:
    """Make a pod and keep it; return the exit code to end with."""
    os.set_inheritable(order_fd, False)
    os.set_inheritable(report, False)
    try:
        with os.fdopen(order_fd, "rb") as pipe:
            order: Order = marshal.load(pipe)  # noqa: S302 - from our own parent
            owner = os.pidfd_open(order["owner"])
            if os.getppid() != order["owner"]:
                return LAUNCH_FAILED
            child = make(order, report)
            os.write(report, f"pid {child}\n".encode())
            os.close(report)
            os.closerange(0, 3)  # who reads the pod's output shall see the pod's own end of file
            pipe.read()  # the owner closes it when it holds a pidfd: no earlier may we reap
        return keep(owner, child)
    except (PodError, OSError) as fault:  # in the keeper, or in what should become the program
        code = fault.code if isinstance(fault, PodError) else LAUNCH_FAILED
        os.write(report, f"failed {code} {fault}\n".encode())
        return code


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), int(sys.argv[2])))
