"""Sets of ranks as people write them: `all`, `none`, `first`, `0,8-15`."""

from __future__ import annotations

from mpiboot.model.record import dataclass

EXPECTED = "all, none, first, or ranks as 0,8-15"
_MOST_RANK = 1 << 20
_MOST_SPANS = 10_000


@dataclass(frozen=True)
class RankSet:
    """Some ranks.

    Attributes:
        text: as it was written, words in small letters.
        spans: first and last rank of each run of them; None: all ranks there are.
    """

    text: str
    spans: tuple[tuple[int, int], ...] | None

    @property
    def everybody(self) -> bool:
        """Tell whether no rank is left out."""
        return self.spans is None

    def __contains__(self, rank: int) -> bool:
        return self.spans is None or any(low <= rank <= high for low, high in self.spans)


def read(text: str) -> RankSet:
    """Read a set of ranks.

    Raises:
        ValueError: with the words for what was expected.
    """
    word = text.strip().lower()
    named: dict[str, tuple[tuple[int, int], ...] | None] = {
        "all": None, "none": (), "first": ((0, 0),),
    }  # fmt: skip
    if word in named:
        return RankSet(word, named[word])
    parts = word.split(",")
    if len(parts) > _MOST_SPANS:
        raise ValueError(f"at most {_MOST_SPANS} ranges of ranks")
    return RankSet(word, tuple(_span(part.strip()) for part in parts))


def _span(part: str) -> tuple[int, int]:
    low, dash, high = part.partition("-")
    span = _rank(low.strip()), _rank((high if dash else low).strip())
    if span[0] > span[1]:
        raise ValueError(f"{EXPECTED}; {part} ends before it begins")
    return span


def _rank(digits: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(_MOST_RANK))):
        raise ValueError(EXPECTED)
    if int(digits) > _MOST_RANK:
        raise ValueError(f"{EXPECTED}, up to {_MOST_RANK}")
    return int(digits)
