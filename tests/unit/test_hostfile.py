"""Hostfiles and host lists of every dialect become hosts, or one error that names each bad line."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError
from mpiboot.model import hosts as model_hosts
from mpiboot.model.hosts import Enumerated, Host, Listed, parse_hostfile, parse_list, parse_source
from tests.helpers.quickly import quickly


def hosts(text: str) -> list[Host]:
    return list(parse_hostfile(text, "H").hosts)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a", Host(name="a")),
        ("a slots=2", Host(name="a", slots=2)),
        ("a slots = 2", Host(name="a", slots=2)),
        ("  a   slots=2  ", Host(name="a", slots=2)),
        ("a slots=2 max_slots=4", Host(name="a", slots=2)),
        ("a slots=2 max-slots=4", Host(name="a", slots=2)),
        ("a:3", Host(name="a", slots=3)),
        ("a.b.c:3", Host(name="a.b.c", slots=3)),
        ("my_app_1 slots=1", Host(name="my_app_1", slots=1)),
        ("10.0.0.7:2", Host(name="10.0.0.7", slots=2)),
        ("[fd00::1]:2", Host(name="fd00::1", slots=2)),
        ("[fd00::1] slots=2", Host(name="fd00::1", slots=2)),
        ("fd00::1 slots=2", Host(name="fd00::1", slots=2)),
        ("user@a:2", Host(name="a", slots=2, user="user")),
        ("user@[fd00::1]:2", Host(name="fd00::1", slots=2, user="user")),
        ("a slots=1 port=2222 user=mpi", Host(name="a", slots=1, port=2222, user="mpi")),
        ("a slots=1 username=mpi # rack 3", Host(name="a", slots=1, user="mpi")),
    ],
)
def test_a_line_of_any_dialect(line: str, expected: Host) -> None:
    """Open MPI's and Hydra's ways of writing a host mean the same host."""
    assert hosts(line) == [expected]


@pytest.mark.parametrize(
    "text",
    ["a:1\nb:1", "a:1\r\nb:1\r\n", "\ufeffa:1\nb:1\n", "# all\n\na:1 # one\n\n  \nb:1\n"],
)
def test_line_ends_comments_blanks_and_marks(text: str) -> None:
    """CRLF, a missing last newline, comments, blank lines and a byte order mark do no harm."""
    assert [host.name for host in hosts(text)] == ["a", "b"]


def test_a_host_that_is_named_twice_adds_its_slots() -> None:
    """As in `mpirun -H a,a`, each naming gives a slot or the slots that it states."""
    assert hosts("a\na\nb slots=2\nB slots=3\n") == [
        Host(name="a", slots=2),
        Host(name="b", slots=5),
    ]


def test_a_host_with_no_slots_is_left_out() -> None:
    """`slots=0` takes no part, as Open MPI reads it."""
    assert [host.name for host in hosts("a slots=0\nb slots=1")] == ["b"]


@pytest.mark.parametrize(
    "line",
    ["a slots=x", "a slots=-1", "a slots=1 slots=2", "a foo", "a foo=1", "-oProxyCommand=x", "a/b",
     "[fd00::1", "a port=0", "a port=99999", "a:1:2:zz", "a user=-x", "ä", "a" * 300, "a slots=9e9"],
)  # fmt: skip
def test_a_bad_line_is_named_by_its_number(line: str) -> None:
    """What cannot be read is an error with the line's number; nothing is guessed."""
    with pytest.raises(ConfigError, match="line 2 "):
        hosts(f"good:1\n{line}\n")


def test_all_bad_lines_are_told_at_once() -> None:
    """One error names every bad line."""
    with pytest.raises(ConfigError) as caught:
        hosts("a slots=x\nb:1\nc foo\n")
    assert "line 1" in str(caught.value)
    assert "line 3" in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n", "a slots=0\n"])
def test_an_empty_file_is_an_error(text: str) -> None:
    """Some MPIs run everything on the launcher then; this is never what was meant."""
    with pytest.raises(ConfigError, match="names no host"):
        hosts(text)


def test_host_list_and_dns_source() -> None:
    """--hosts takes a list with slots, or a name to enumerate with a count."""
    assert parse_list("a:2, b ,[::1]:3").hosts == (
        Host(name="a", slots=2),
        Host(name="b"),
        Host(name="::1", slots=3),
    )
    assert parse_source("dns:worker", 3) == Enumerated(name="worker", count=3)
    assert parse_source("dns:worker", 0) == Enumerated(name="worker", count=None)
    with pytest.raises(ConfigError, match="not a DNS name"):
        parse_source("dns:a b", 1)


@given(st.text(max_size=200))
def test_any_text_gives_hosts_or_a_clear_error(text: str) -> None:
    """No text makes the parser raise anything but its own error, or lets a strange name through."""
    for read in (lambda: parse_hostfile(text, "H"), lambda: parse_list(text)):
        try:
            listed = read()
        except ConfigError as fault:
            assert "\n" not in str(fault)
            continue
        assert isinstance(listed, Listed)
        for host in listed.hosts:
            assert not host.name.startswith("-")
            assert not set(host.name) & set(" \t\n\"'$;#")
            assert host.slots is None or host.slots > 0


names = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)


@given(
    st.lists(
        st.tuples(names, st.integers(1, 1000)), min_size=1, max_size=20, unique_by=lambda t: t[0]
    )
)
def test_what_is_written_is_read_back(pairs: list[tuple[str, int]]) -> None:
    """Both common dialects round-trip."""
    wanted = [Host(name=name, slots=slots) for name, slots in pairs]
    assert hosts("".join(f"{n} slots={s}\n" for n, s in pairs)) == wanted
    assert hosts("".join(f"{n}:{s}\r\n" for n, s in pairs)) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "a"
        + " " * 200_000
        + "b",  # a regular expression for `=` with blanks around it went back and forth
        "a" * 1_000_000 + "[0-99999]",
        "[0-9]" * 5000,
        "a[0-0]" * 2000,
        "a=" * 100_000,
    ],
)
def test_no_line_takes_long_or_much(line: str) -> None:
    """Blanks, brackets, ranges without an end: one clear error, soon."""
    with quickly(), pytest.raises(ConfigError):
        parse_hostfile(line, "hosts")
    with quickly(), pytest.raises(ConfigError) as fault:
        parse_list(line)
    assert len(str(fault.value)) < 5000


def test_many_ranges_are_refused_before_they_are_all_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred thousand short entries of a thousand names each are an error, soon."""
    monkeypatch.setattr(model_hosts, "MAX_HOSTS", 2000)
    many = [f"n{number}-[0-999]" for number in range(100_000)]
    for parse in (
        lambda: parse_hostfile("\n".join(many), "hosts"),
        lambda: parse_list(",".join(many)),
    ):
        with quickly(), pytest.raises(ConfigError, match="more than 2000 hosts"):
            parse()


@pytest.mark.parametrize("slots", ["0000000009999999", "1" * 5000, "²", "-1", "1e3"])
def test_slots_are_a_short_number(slots: str) -> None:
    """Zeros in front do not hide a number that is too large."""
    with pytest.raises(ConfigError, match="slots must be a number from 0 to 100000"):
        parse_hostfile(f"a slots={slots}", "hosts")


_LETTERS = st.text(alphabet="aB1_.-:=@[]# \t,0z\u0660", max_size=12)
_COUNTS = st.sampled_from(["", "0", "2", "007", "100000", "100001", "9999999999", "-1", "x"])
_ENTRIES = st.builds(
    "{}{}{}{}".format,
    st.one_of(
        st.sampled_from(["a", "A", "w-1.train", "10.0.0.7", "1.2.3", "_x", "a" * 254]), _LETTERS
    ),
    st.sampled_from(["", ":", " slots=", "\tslots=", " slots = ", "  slots=2 slots=", " port="]),
    _COUNTS,
    st.sampled_from(["", " ", "\t", " # x", "\r", "\x1c"]),
)


@given(st.lists(_ENTRIES, max_size=5), st.sampled_from(["\n", ","]))
def test_ordinary_forms_mean_what_they_mean_with_care(entries: list[str], sign: str) -> None:
    """What is read by its form alone is the same host, or the same error, as read word by word."""
    text = sign.join(entries)

    def read() -> Listed | str:
        try:
            return parse_list(text) if sign == "," else parse_hostfile(text, "H")
        except ConfigError as fault:
            return str(fault)

    told = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_hosts, "_ordinary", lambda _form, _text: None)
        assert told == read()


@given(
    st.one_of(
        st.ip_addresses().map(str),
        st.text(alphabet="0123456789.:abcdefx%/ -\u0660", max_size=20),
        st.lists(st.integers(0, 300).map(str), min_size=3, max_size=5).map(".".join),
    )
)
def test_an_address_is_what_the_standard_library_reads(text: str) -> None:
    """No text is told to be an address, or to be none, against the parser's word."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert not model_hosts.is_address(text)
    else:
        assert model_hosts.is_address(text)


def test_a_hostfile_of_many_is_read_by_its_form_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The careful parser, which costs ten times as much, sees none of the ordinary lines."""
    monkeypatch.setattr(model_hosts, "_parse_with_care", pytest.fail)
    for form in ("w-{}.train slots=8", "w-{}.train:8", "w-{}", "10.0.0.{}"):
        text = "\n".join(form.format(number) for number in range(100))
        assert len(hosts(text)) == 100
    assert len(parse_list("w-[0-999]:8").hosts) == 1000
