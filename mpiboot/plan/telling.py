"""When the wait for workers is worth a line, where no table shows it."""

from __future__ import annotations

from mpiboot.model.record import dataclass

# Pauses before the first lines; all later ones take the last. A wait of ten minutes is a dozen lines.
_CALM_S = (5.0, 10.0, 20.0, 40.0)
_LATER_S = 60.0
# News are told sooner, yet a thousand workers that come one by one are no thousand lines: the pause
# grows with the wait.
_NEWS_S = 5.0
_NEWS_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class News:
    """What makes two looks at the wait differ for people.

    Attributes:
        ready: how many workers are ready.
        expected: how many are awaited; None: not known yet.
        reasons: why others are not.
        answer: what a name that is enumerated answers.
    """

    ready: int
    expected: int | None = None
    reasons: frozenset[str] = frozenset()
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What was said so far.

    Attributes:
        at_s: when the last line was said, in seconds of the wait; 0: none was.
        lines: how many were.
        news: what the last one said.
    """

    at_s: float = 0.0
    lines: int = 0
    news: News | None = None

    def again(self, news: News, waited_s: float) -> Told:
        """Return what was said after one more line."""
        return Told(at_s=waited_s, lines=self.lines + 1, news=news)


def due_s(told: Told, news: News) -> float:
    """Tell after how many seconds of waiting the next line is due.

    Where nothing changes the pauses grow: 5, 10, 20, 40 seconds, then a minute each. A change of the
    number of workers that are ready, or of the reasons, is told at once when the last line is 5
    seconds or a tenth of the wait ago.

    Args:
        told: what was said so far.
        news: what could be said now.
    """
    calm_s = _CALM_S[told.lines] if told.lines < len(_CALM_S) else _LATER_S
    if news == told.news:
        return told.at_s + calm_s
    return told.at_s + min(calm_s, max(_NEWS_S, told.at_s * _NEWS_SHARE))
