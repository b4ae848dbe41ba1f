"""Workers ask each other in a ring, and only silence counts."""

from __future__ import annotations

from mpiboot.plan.neighbours import ring, told


def test_each_asks_the_next() -> None:
    """All are asked once; who is alone, or shares the address, asks nobody."""
    assert ring({"a": "1", "b": "2", "c": "3"}) == {"a": "b", "b": "c", "c": "a"}
    assert ring({"a": "1", "b": "1", "c": "3"}) == {"b": "c", "c": "a"}
    assert ring({"a": "1"}) == {}
    assert ring({}) == {}


def test_what_silence_means() -> None:
    """The first pair is named, with the reason and the remedy; nothing is said of nothing."""
    asked = {"a": "b", "b": "a"}
    text = told({"b": "as well", "a": "no answer from 10.0.0.2, port 40000, within 2 s"}, asked)
    assert text.startswith("a does not reach b, while the port of ssh is open: no answer from 10.")
    assert "within 2 s, and 1 more." in text
    assert "allow all TCP ports" in text
    assert told({}, asked) == ""
