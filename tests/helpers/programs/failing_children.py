"""Start many children that fail, beside a storm of orphans, and print what was learnt of them.

Run by the interpreter that has mpiboot: `python failing_children.py COUNT STORMS`. Prints one line
of JSON: `wrong` (expected code, reported code) and `orphans_reaped`; then lives on, and reaps, until
its stdin ends.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mpiboot.runtime import processes
from mpiboot.runtime.children import Children
from mpiboot.runtime.signals import SignalPump

STORM = str(Path(__file__).with_name("orphan_storm.py"))
AT_ONCE = 5
UNDER_WAY = 20  # orphans by which the storm has begun


async def main(count: int, storms: int) -> None:
    """Run the children in waves while the storm lasts."""
    processes.become_subreaper()
    children = Children()
    under_way = asyncio.Event()

    def reap() -> None:
        children.reap()
        if children.orphans_reaped >= UNDER_WAY:
            under_way.set()

    SignalPump(lambda _number: None, reap).start()
    storm = [children.spawn([STORM, "100000", "20"]) for _ in range(storms)]
    await under_way.wait()
    wrong = []
    for begin in range(0, count, AT_ONCE):
        expected = [number % 250 + 1 for number in range(begin, min(begin + AT_ONCE, count))]
        wave = [children.spawn(["sh", "-c", f"exit {code}"]) for code in expected]
        codes = await asyncio.gather(*(child.ended for child in wave))
        wrong += [pair for pair in zip(expected, codes, strict=True) if pair[0] != pair[1]]
    for child in storm:
        child.signal(9)
        await child.ended
    result = {"wrong": wrong, "orphans_reaped": children.orphans_reaped, "pid": os.getpid()}
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    loop.add_reader(0, told.set)
    await told.wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
