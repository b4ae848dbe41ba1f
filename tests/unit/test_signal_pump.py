"""Signals are handed on before the dead are looked for, and neither keeps the other away."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PROGRAM = """
import asyncio, json, os, signal
from mpiboot.runtime import latch
from mpiboot.runtime.signals import SignalPump

seen = []

def told(number):
    seen.append(number)
    if {fault}:
        raise PermissionError(number)

async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    pump = SignalPump(told, lambda: seen.append("child"))
    pump.start()
    await asyncio.sleep(0.05)
    del seen[:]
    # Held back, so that the loop finds both at the same time.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGUSR1])
    for number in (signal.SIGCHLD, signal.SIGUSR1):
        os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD, signal.SIGUSR1])
    for _ in range(500):
        await asyncio.sleep(0.01)
        if "child" in seen:
            break
    pump.stop()

latch.install()
asyncio.run(main())
print(json.dumps(seen))
"""
USR1 = 10


def _seen(*, fault: bool) -> Any:
    argv = [sys.executable, "-Ic", PROGRAM.format(fault=fault)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_a_signal_does_not_wait_for_the_dead():
    """Who sent it waits; an orphan can wait."""
    assert _seen(fault=False) == [USR1, "child"]


def test_the_dead_are_looked_for_whatever_became_of_a_signal():
    """One that could not be sent on must not leave a child unnoticed: nothing would tell again."""
    assert _seen(fault=True)[:2] == [USR1, "child"]
