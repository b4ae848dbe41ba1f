"""Ranges in host names are written out, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError
from mpiboot.model.hostranges import expand
from mpiboot.model.hosts import parse_hostfile, parse_list


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("w[0-2].job:4", ["w0.job:4", "w1.job:4", "w2.job:4"]),
        ("js-w-[0-1]-[0-1].js", ["js-w-0-0.js", "js-w-0-1.js", "js-w-1-0.js", "js-w-1-1.js"]),
        ("w[8-10]", ["w8", "w9", "w10"]),
        ("w[08-10]", ["w08", "w09", "w10"]),
        ("w[0-1][0-1]", ["w00", "w01", "w10", "w11"]),
        ("mpi@w[3-3]", ["mpi@w3"]),
        ("[fe80::1]:4", ["[fe80::1]:4"]),
        ("root@[10-20]", ["root@[10-20]"]),
        ("plain", ["plain"]),
    ],
)
def test_ranges(word: str, names: list[str]) -> None:
    """Numbers in order, width kept, the last range fastest; brackets of addresses are none."""
    assert expand(word) == names


@pytest.mark.parametrize(
    ("text", "told"),
    [("w[3-1]", "runs backwards"), ("w[0-999]-[0-999]", "1000000 names"), ("w[0-999999]", "names")],
)
def test_ranges_that_cannot_be(text: str, told: str) -> None:
    """They are refused with the item, before a million names are made."""
    with pytest.raises(ConfigError, match=told):
        parse_list(text)


def test_lists_and_hostfiles_have_them() -> None:
    """With slots and ports, each name gets them."""
    assert [(one.name, one.slots) for one in parse_list("a:1,w[0-1]:2").hosts] == [
        ("a", 1),
        ("w0", 2),
        ("w1", 2),
    ]
    listed = parse_hostfile("w[0-1].job slots=2 port=2222\n", "f")
    assert [(one.name, one.slots, one.port) for one in listed.hosts] == [
        ("w0.job", 2, 2222),
        ("w1.job", 2, 2222),
    ]


@given(word=st.text(alphabet="w[]-019@:.", max_size=14))
def test_any_word_is_expanded_or_refused(word: str) -> None:
    """What holds no range comes back as it is."""
    try:
        names = expand(word)
    except ValueError:
        return
    assert names
    assert names == [word] or "[" in word
