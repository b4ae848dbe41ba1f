"""Where the threads of a process stand: by py-spy, by gdb, or as the kernel sees it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from mpiboot.errors import MpibootError
from mpiboot.model.counting import counted
from mpiboot.runtime import inspect, usage
from mpiboot.runtime.children import Children
from mpiboot.runtime.files import kernel_text

LIMIT = 30_000  # characters: as a message with each of them escaped
_PROCESSES = 8
_THREADS = 16
_EACH_S = 4.0


async def of_tree(root: int, children: Children, env: Mapping[str, str], deadline: float) -> str:
    """Describe a process and what it has started.

    Args:
        root: process id.
        children: who starts the programs that look.
        env: where they are looked for.
        deadline: until when programs may look, on the loop's clock; what the kernel says is there at
            any time.
    """
    texts = []
    for pid in usage.tree(root)[:_PROCESSES]:
        seen = await _looked(pid, children, env, deadline)
        texts.append(f"process {pid}: {_words(pid)}\n{seen or _of_kernel(pid)}")
    return "\n".join(texts)[:LIMIT]


async def _looked(pid: int, children: Children, env: Mapping[str, str], deadline: float) -> str:
    """Ask the first program that can tell; empty where none is here or may look."""
    loop = asyncio.get_running_loop()
    for argv in (
        ["py-spy", "dump", "--nonblocking", "--pid", str(pid)],
        ["gdb", "-nx", "-p", str(pid), "-batch", "-ex", "thread apply all bt"],
    ):
        left_s = min(_EACH_S, deadline - loop.time())
        path = inspect.on_path(argv[0], env.get("PATH", os.defpath))
        if path is None or left_s <= 0:
            continue
        try:
            done = await children.run([path, *argv[1:]], timeout_s=left_s, env=env)
        except MpibootError:
            continue
        text = done.stdout.decode(errors="replace").strip()
        if done.code == 0 and ("Thread " in text or "#0 " in text):
            return text
    return ""


def _words(pid: int) -> str:
    """Return the command line of a process, or its name in brackets."""
    words = kernel_text(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
    return words[:200] or f"[{kernel_text(f'/proc/{pid}/comm').strip()}]"


def _of_kernel(pid: int) -> str:
    """Say what the kernel knows of each thread: its state, what it waits for, its system call."""
    try:
        threads = sorted((one.name for one in Path(f"/proc/{pid}/task").iterdir()), key=int)
    except OSError:
        return "it has ended"
    lines = [_of_thread(f"/proc/{pid}/task/{thread}", thread) for thread in threads[:_THREADS]]
    if len(threads) > _THREADS:
        lines.append(f"and {counted(len(threads) - _THREADS, 'thread')} more")
    return "\n".join(lines)


def _of_thread(place: str, thread: str) -> str:
    state = kernel_text(f"{place}/stat").rpartition(")")[2].split()[:1]
    waits = kernel_text(f"{place}/wchan").strip("\0\n 0")
    call = kernel_text(f"{place}/syscall").split()
    facts = [
        f"thread {thread} ({kernel_text(f'{place}/comm').strip()})",
        f"state {''.join(state) or '?'}",
    ]
    facts += [f"waits in {waits}"] if waits else []
    facts += [f"system call {call[0]}"] if call and call[0].isdigit() else []
    stack = [line.strip() for line in kernel_text(f"{place}/stack").splitlines()]
    return "\n".join([", ".join(facts), *(f"  {line}" for line in stack)])
