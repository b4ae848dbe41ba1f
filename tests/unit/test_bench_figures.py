"""Benchmarks: what rounds add up to, what is drawn of it, and what is kept."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from bench import kept
from bench.figures import changes, columns, noise, summary
from bench.goal import DIFFERENCE, OURS, RATIO, THEIRS, Aim, Goal
from bench.plot import svg
from bench.registry import GOALS, gather, meant

AIMS = (Aim(figure=RATIO, most=0.5), Aim(most=3.0))


def result(*pairs: tuple[float, float], name: str = "one", unit: str = "s") -> dict[str, Any]:
    rounds = [{OURS: ours, THEIRS: theirs} for ours, theirs in pairs]
    head = {"name": name, "what": "a < b", "beside": "c & d", "unit": unit}
    return {**head, **summary(rounds, AIMS)}


def test_ratios_are_made_round_by_round() -> None:
    """The median of the ratios counts, which is not the ratio of the medians."""
    made = result((1, 10), (2, 4), (9, 10))
    assert made["figures"][RATIO]["median"] == 0.5
    assert made["figures"][OURS]["median"] / made["figures"][THEIRS]["median"] == 0.2
    assert made["figures"][DIFFERENCE]["median"] == -2
    assert [(aim["figure"], aim["met"]) for aim in made["aims"]] == [(RATIO, True), (OURS, True)]


def test_an_aim_that_is_not_reached_is_missed() -> None:
    """A median above the bound is a miss, whatever single rounds did."""
    made = result((6, 10), (6, 10), (1, 10))
    assert [aim["met"] for aim in made["aims"]] == [False, False]


def test_nothing_is_divided_by_nothing() -> None:
    """A baseline of 0 gives no ratio, and an aim for the ratio is not judged."""
    made = result((0, 0), (1, 0))
    assert RATIO not in made["figures"]
    assert [aim["figure"] for aim in made["aims"]] == [OURS]


def test_a_figure_that_a_round_lacks_is_of_the_others() -> None:
    """A peer that gave up once still has its other rounds."""
    assert columns([{OURS: 1.0}, {OURS: 2.0, "peer": 5.0}])["peer"] == [5.0]


def test_noise_is_seen_in_the_baseline() -> None:
    """The baseline tells of the machine: ours may vary for its own reasons."""
    still = [(float(n), 10.0) for n in (1, 50, 100)]
    assert not result(*still)["noisy"]
    assert result((1, 1), (1, 2), (1, 10))["noisy"]
    assert noise([5.0]) == 1.0
    assert noise([0.0, 0.0, 9.0]) == 1.0


@pytest.mark.parametrize(
    ("now", "then", "word"),
    [
        ([(8, 10), (8, 10)], [(5, 10), (5, 10)], "worse"),
        ([(5, 10), (5, 10)], [(8, 10), (8, 10)], "better"),
        ([(5.5, 10), (5.5, 10)], [(5, 10), (5, 10)], ""),  # within what quiet rounds differ by
        ([(4, 10), (9, 10), (9, 10)], [(5, 10), (5, 10), (5, 10)], ""),  # ranges overlap
        ([(50, 100), (50, 100)], [(5, 10), (5, 10)], ""),  # a slower machine, the same ratio
    ],
)
def test_changes(now: list[Any], then: list[Any], word: str) -> None:
    """A change is told when it is larger than noise, by the ratio where there is one."""
    lines = changes(result(*now), result(*then))
    assert [line.partition(":")[0] for line in lines] == ([word] if word else [])


def test_without_a_baseline_our_own_figure_is_compared() -> None:
    """Seconds are compared where there is nothing better."""
    new, old = summary([{OURS: 3.0}], ()), summary([{OURS: 1.0}], ())
    assert changes(new, old) == ["worse: mpiboot 3.000, was 1.000"]


def test_the_plot_is_svg_with_a_dot_for_each_round() -> None:
    """It is well-formed whatever the words are, larger figures stand further right, the aim is a line."""
    tree = ET.fromstring(svg(result((1, 10), (2, 10), (3, 10))))  # noqa: S314 - our own text
    space = "{http://www.w3.org/2000/svg}"
    places = [float(dot.attrib["cx"]) for dot in tree.iter(f"{space}circle")]
    assert len(places) == 6
    assert places[0] < places[1] < places[2] < places[3] == places[5]
    dashed = [line for line in tree.iter(f"{space}line") if "stroke-dasharray" in line.attrib]
    assert [float(line.attrib["x1"]) for line in dashed] == [places[2]]
    assert "a < b" in "".join(tree.itertext())


def test_the_plot_of_nothing_but_zeros() -> None:
    """200 of 200 logins that work are drawn, too."""
    assert svg(result((0, 0), unit="failures")).count("<circle") == 2


def test_figures_are_read_as_they_were_written(tmp_path: Path) -> None:
    """What is kept is what was measured; what was never measured is None."""
    kept.write(tmp_path / "new", result((1, 2)))
    assert kept.read(tmp_path / "new", "one") == result((1, 2))
    assert (tmp_path / "new/one.svg").read_text().startswith("<svg")
    assert kept.read(tmp_path, "one") is None


def test_the_table_takes_its_own_place_and_no_other() -> None:
    """Twice written is once there, and what stands around it stays."""
    text = kept.table([result((1, 2)), result((1, 9), name="two")])
    assert text.count("\n") == 4
    page = kept.with_table("# Page\n\nbefore\n", text)
    more = kept.with_table(page + "\nafter\n", "| new |\n")
    assert more == f"# Page\n\nbefore\n\n{kept.BEGIN}\n| new |\n{kept.END}\n\nafter\n"


def test_what_is_kept_is_in_the_table_with_what_was_kept_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of one goal renews its row alone; the rows stand in the registry's order."""
    monkeypatch.setattr(kept, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(kept, "PAGE", tmp_path / "page.md")
    kept.PAGE.write_text("# Page\n")
    kept.keep([result((1, 2), name="two")], ["one", "two"])
    kept.keep([result((1, 4))], ["one", "two"])
    rows = [line.split(" | ")[::5] for line in kept.PAGE.read_text().splitlines() if " s " in line]
    assert rows == [["| one", "0.25 [0.25 to 0.25]"], ["| two", "0.5 [0.5 to 0.5]"]]


def test_every_goal_can_fail() -> None:
    """Each goal has an aim; one for the ratio has a baseline."""
    for name, goal in GOALS.items():
        assert goal.aims, name
        assert goal.beside or not {RATIO, DIFFERENCE} & {aim.figure for aim in goal.aims}, name


def test_a_family_is_all_of_its_goals() -> None:
    """`leases` means each size, in order, once; a word that means nothing is named."""
    assert meant(["leases", "leases-64"]) == ["leases-64", "leases-256", "leases-1024"]
    assert "leases-64" not in meant([])
    with pytest.raises(ValueError, match="no goal lease, x"):
        meant(["lease", "x", "ready"])


def test_two_goals_of_one_name() -> None:
    """A name is a file of figures: two goals cannot share it."""
    goal = Goal(what="x", run=lambda _: {})
    with pytest.raises(ValueError, match="called a"):
        gather([{"a": goal}, {"b": goal, "a": goal}])
