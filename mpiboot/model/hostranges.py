"""`worker-[0-7].train` for eight names, as cluster tools write them."""

from __future__ import annotations

import re

_MOST = 100_000
_MOST_RANGES = 16  # of one word
# What stands before a bracket tells it from that of an IPv6 address.
_RANGE = re.compile(r"([^\[\]]*[^\[\]@])\[([0-9]{1,6})-([0-9]{1,6})\](.*)", re.ASCII | re.DOTALL)


def expand(word: str) -> list[str]:
    """Write out the ranges in a word: `w[08-10]` is w08, w09, w10; of several the last runs fastest.

    Raises:
        ValueError: a range runs backwards, or they make too many names.
    """
    if "[" not in word:
        return [word]
    if word.count("[") > _MOST_RANGES:
        raise ValueError(f"more than {_MOST_RANGES} brackets")
    found = _RANGE.fullmatch(word)
    if found is None:
        return [word]
    lead, first, last, rest = found.groups()
    if int(last) < int(first):
        raise ValueError(f"the range [{first}-{last}] runs backwards")
    tails = [tail[1:] for tail in expand(f"x{rest}")]  # a range may follow at once
    many = (int(last) - int(first) + 1) * len(tails)
    if many > _MOST:
        raise ValueError(f"{many} names, more than {_MOST}")
    width = len(first) if first.startswith("0") else 0
    numbers = range(int(first), int(last) + 1)
    return [f"{lead}{number:0{width}d}{tail}" for number in numbers for tail in tails]
