"""From rounds to figures: medians of pairs, noise, aims, and what changed; pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.goal import DIFFERENCE, OURS, RATIO, THEIRS, Aim, Figures

NOISY = 3.0  # a baseline whose 90th percentile is that many times its 10th measures the machine
_WORSE = 1.25  # what rounds of one quiet machine may differ by


def columns(rounds: Sequence[Figures]) -> dict[str, list[float]]:
    """Turn rounds into one list for each figure; compare with the baseline round by round.

    A ratio to nothing is left out: 0 of 200 failures beside 0 say nothing. A figure may be missing
    in some rounds: a peer gave up.
    """
    keys = dict.fromkeys(key for one in rounds for key in one)
    found = {key: [one[key] for one in rounds if key in one] for key in keys}
    if THEIRS in found:
        found[DIFFERENCE] = [one[OURS] - one[THEIRS] for one in rounds]
        ratios = [one[OURS] / one[THEIRS] for one in rounds if one[THEIRS]]
        if ratios:
            found[RATIO] = ratios
    return found


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Give median, extremes and the values themselves."""
    return {
        "median": round(statistics.median(values), 6),
        "min": round(min(values), 6),
        "max": round(max(values), 6),
        "values": [round(value, 6) for value in values],
    }


def noise(values: Sequence[float]) -> float:
    """Tell how far values spread: their 90th percentile by their 10th, 1 for a single one."""
    if len(values) < 2:
        return 1.0
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return tenths[-1] / tenths[0] if tenths[0] > 0 else 1.0


def summary(rounds: Sequence[Figures], aims: Sequence[Aim]) -> dict[str, Any]:
    """Sum up the counted rounds of a goal: figures, noise of the baseline, aims met or missed.

    Without a baseline, our own figure tells of the machine; it may vary for its own reasons.
    """
    figures = {key: spread(values) for key, values in columns(rounds).items()}
    still = THEIRS if THEIRS in figures else OURS
    loud = noise(figures[still]["values"]) if still in figures else 1.0
    return {
        "rounds": len(rounds),
        "noise": round(loud, 2),
        "noisy": loud > NOISY,
        "figures": figures,
        "aims": [
            {
                "figure": aim.figure,
                "most": aim.most,
                "met": figures[aim.figure]["median"] <= aim.most,
            }
            for aim in aims
            if aim.figure in figures
        ],
    }


def changes(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[str]:
    """Compare a goal's result with the figures kept of it; one line for each that got worse or better.

    The ratio to the baseline is compared where there is one, for machines differ; a change counts
    when it is larger than the noise of quiet rounds and the ranges do not overlap.
    """
    lines = []
    for key in (RATIO,) if RATIO in new["figures"] and RATIO in old["figures"] else (OURS,):
        now, then = new["figures"].get(key), old["figures"].get(key)
        if now is None or then is None:
            continue
        text = f"{key} {now['median']:.3f}, was {then['median']:.3f}"
        if now["median"] > then["median"] * _WORSE and now["min"] > then["max"]:
            lines.append(f"worse: {text}")
        elif now["median"] * _WORSE < then["median"] and now["max"] < then["min"]:
            lines.append(f"better: {text}")
    return lines
