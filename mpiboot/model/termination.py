"""The outcome in 4096 bytes, which is all that Kubernetes keeps of a container's last words."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mpiboot.model.outcome import Failure, Outcome, first_rank

TERMINATION_LIMIT = 4096
# Where the kubelet mounts the file, unless the pod says otherwise.
KUBERNETES_MESSAGE = "/dev/termination-log"

# Bounds of the parts, in bytes as JSON has them. What comes first always fits with them; the rest
# fills the room that is left.
_MESSAGE = 900  # of the outcome, where failures follow
_ALONE = 3800  # of the outcome, where none do
_CAUSE = 500  # message of a failure
_HOST = 256
_STDERR = 1100  # of the first rank that failed
_OTHERS = 64  # further failures that are looked at


def termination_message(outcome: Outcome, role: str) -> str:
    """Render an outcome as compact JSON of at most 4096 bytes, root cause first.

    Always there: role, code, fault, message, the root cause, and the first rank that failed with its
    last lines. What does not fit is left out from the end: evidence, then later failures.

    Args:
        outcome: how it ended.
        role: whose outcome it is.
    """
    alone = not outcome.failures
    data: dict[str, object] = {
        "role": role,
        "code": outcome.code,
        "fault": outcome.fault.value,
        "message": cut(outcome.message, _ALONE if alone else _MESSAGE),
    }
    chosen: list[dict[str, object]] = []
    left_out = False
    speaker = first_rank(outcome.failures) or next(iter(outcome.failures), None)
    for failure in _in_order_of_worth(outcome):
        entry = _entry(failure, brief=failure is not speaker)
        if _size({**data, "failures": [*chosen, entry]}) > TERMINATION_LIMIT:
            left_out = True
            break
        chosen.append(entry)
        data["failures"] = chosen
    witnesses: list[str] = []
    for words in () if left_out else outcome.evidence:
        if _size({**data, "evidence": [*witnesses, _clean(words)]}) > TERMINATION_LIMIT:
            break
        witnesses.append(_clean(words))
        data["evidence"] = witnesses
    return _render(data)


def _in_order_of_worth(outcome: Outcome) -> Iterator[Failure]:
    """Yield the root cause, the first rank that failed, then others as they came."""
    failures = outcome.failures[:_OTHERS]
    worthy = [*outcome.failures[:1]]
    rank = first_rank(outcome.failures)
    if rank is not None and rank is not outcome.failures[0]:
        worthy.append(rank)
    yield from worthy
    yield from (one for one in failures if all(one is not other for other in worthy))


def _entry(failure: Failure, *, brief: bool) -> dict[str, object]:
    """Return a failure's fields, bounded; a brief one goes without its stderr."""
    entry = failure.to_json()
    entry.pop("stderr", None)
    entry["message"] = cut(failure.message, _CAUSE)
    if failure.host:
        entry["host"] = cut(failure.host, _HOST)
    lines = [] if brief else _last(failure.stderr)
    if lines:
        entry["stderr"] = lines
    return entry


def _last(lines: tuple[str, ...]) -> list[str]:
    """Return the last lines that fit; the last one of all is cut at worst."""
    kept: list[str] = []
    room = _STDERR
    for line in reversed(lines):
        text = _clean(line) if kept else cut(line, _STDERR - 3)
        room -= _length(text) + 3  # quotes and comma
        if room < 0:
            break
        kept.insert(0, text)
    return kept


def cut(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many bytes in JSON."""
    text = _clean(text[:most])
    while (length := _length(text)) > most:
        text = text[: len(text) * most // length]
    return text


def _clean(text: str) -> str:
    """Replace lone surrogates: strict parsers take no JSON with them."""
    return text.encode(errors="replace").decode()


def _length(text: str) -> int:
    return len(json.dumps(text)) - 2


def _render(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


def _size(data: dict[str, object]) -> int:
    return len(_render(data))
