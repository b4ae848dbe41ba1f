"""What a container and the ranks in it use, as it says itself: every field is checked and bounded."""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model import fields
from mpiboot.model.fields import sent_s, whole
from mpiboot.model.record import dataclass, field

MOST_RANKS = 1024  # of one container: more of them would not fit into a message
_MOST_GPUS = 64
_MOST = 1 << 60


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU; None for what it does not tell.

    Attributes:
        index: its number in the container.
        name: of its model.
        busy_percent: share of the last moment in which it computed.
        memory_bytes: what is used of its memory.
        memory_total_bytes: all of its memory.
    """

    index: int
    name: str = ""
    busy_percent: int | None = None
    memory_bytes: int | None = None
    memory_total_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What was used up to one moment.

    Attributes:
        at_s: the moment, seconds since the epoch by that machine's clock.
        cpu_ms: CPU time of all processes of the container.
        memory_bytes: what they hold; None unknown.
        limit_bytes: what they may hold; None also where there is no limit.
        ranks: CPU time in milliseconds and memory in bytes of each rank with what it has started.
        gpus: those that a session sees.
    """

    at_s: float
    cpu_ms: int
    memory_bytes: int | None = None
    limit_bytes: int | None = None
    ranks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    gpus: tuple[Gpu, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return a JSON-ready mapping that `read` reads back, the moment left out."""
        ranks = sorted(self.ranks.items())[:MOST_RANKS]
        return {
            "cpu_ms": self.cpu_ms,
            "memory": self.memory_bytes,
            "limit": self.limit_bytes,
            "ranks": {str(rank): list(used) for rank, used in ranks},
            "gpus": [dict(vars(one)) for one in self.gpus],
        }


def read(body: Mapping[str, object]) -> Usage | None:
    """Read what another machine says; None when it makes no sense, a wrong field is left out."""
    at_s, cpu_ms = sent_s(body), whole(body, "cpu_ms", _MOST)
    if at_s is None or cpu_ms is None:
        return None
    ranks, gpus = body.get("ranks"), body.get("gpus")
    return Usage(
        at_s=at_s,
        cpu_ms=cpu_ms,
        memory_bytes=whole(body, "memory", _MOST),
        limit_bytes=whole(body, "limit", _MOST),
        ranks=_ranks(ranks if isinstance(ranks, dict) else {}),
        gpus=_gpus(gpus if isinstance(gpus, list) else []),
    )


def _ranks(said: Mapping[object, object]) -> dict[int, tuple[int, int]]:
    known: dict[int, tuple[int, int]] = {}
    for key, value in list(said.items())[:MOST_RANKS]:
        pair = dict(zip(("cpu", "memory"), value, strict=False)) if isinstance(value, list) else {}
        cpu_ms, memory = whole(pair, "cpu", _MOST), whole(pair, "memory", _MOST)
        number = isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 10
        if number and cpu_ms is not None and memory is not None:
            known[int(str(key))] = (cpu_ms, memory)
    return known


def _gpus(said: list[object]) -> tuple[Gpu, ...]:
    found = []
    for one in said[:_MOST_GPUS]:
        index = whole(one, "index", 1023) if isinstance(one, dict) else None
        if isinstance(one, dict) and index is not None:
            found.append(
                Gpu(
                    index=index,
                    name=fields.text(one, "name", 64),
                    busy_percent=whole(one, "busy_percent", 100),
                    memory_bytes=whole(one, "memory_bytes", _MOST),
                    memory_total_bytes=whole(one, "memory_total_bytes", _MOST),
                )
            )
    return tuple(found)


def gpus_of(text: str) -> tuple[Gpu, ...]:
    """Read what nvidia-smi prints for `index,name,utilization.gpu,memory.used,memory.total`.

    Args:
        text: CSV without a header and without units; memory is in MiB.
    """
    found = []
    for line in text.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == 5 and words[0].isdigit():
            busy, used, total = (int(word) if word.isdigit() else None for word in words[2:])
            found.append(
                Gpu(
                    index=int(words[0]),
                    name=fields.printable(words[1])[:64],
                    busy_percent=busy,
                    memory_bytes=None if used is None else used << 20,
                    memory_total_bytes=None if total is None else total << 20,
                )
            )
    return tuple(found[:_MOST_GPUS])
