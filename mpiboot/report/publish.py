"""The last words of an agent beside its code: record, metrics file, push. None can change the code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mpiboot.log import logger
from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Duty:
    """One thing to be done at the end.

    Attributes:
        what: in words, for the warning.
        work: does it, in a thread; raises OSError where it cannot.
        most_s: time that it gets; a place that hangs must not hold the container.
    """

    what: str
    work: Callable[[], None]
    most_s: float


async def publish(duties: Sequence[Duty]) -> None:
    """Do all at once; what does not work is one line of warning each."""
    if not duties:
        return
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - at the end, if at all

    # Not the loop's own pool: look-ups that hang may hold all of its threads.
    pool = ThreadPoolExecutor(len(duties))
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(_do(one, loop.run_in_executor(pool, one.work)) for one in duties))
    pool.shutdown(wait=False)


async def _do(duty: Duty, working: asyncio.Future[None]) -> None:
    await asyncio.wait({working}, timeout=duty.most_s)
    if not working.done():
        logger.warning("%s: not done in %g s", duty.what, duty.most_s)
        return
    try:
        working.result()
    except OSError as fault:
        logger.warning("%s: %s", duty.what, getattr(fault, "strerror", None) or fault)
    except Exception:  # noqa: BLE001 - a fault of ours in the last words must not cost the code
        logger.warning("%s: internal fault", duty.what, exc_info=True)
