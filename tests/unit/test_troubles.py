"""Whatever the agent says is explained: each place in the code has an entry, and each entry a place."""

from __future__ import annotations

from collections import Counter

import pytest

from mpiboot import cli, errors
from mpiboot.errors import MpibootError
from mpiboot.model import options
from mpiboot.model.hosts import Host, parse_hostfile
from mpiboot.model.memory import Memory
from mpiboot.plan import gather, loss, release
from mpiboot.plan.gather import Reach, Seen
from mpiboot.report import troubles
from tests.pages import sites, sources
from tests.pages.sites import Site

ENTRIES = list(troubles.entries())
SAID = [site for site in sites.found() if site.text and site.text not in sources.PARTS]
KNOWN = {message: one for one in ENTRIES for message in one.messages}


def test_each_message_has_an_entry() -> None:
    """What a place in the code says is a message of an entry, in the same words."""
    assert [f"{site.where}: {site.text}" for site in SAID if site.text not in KNOWN] == []


def test_each_entry_has_its_places() -> None:
    """No entry has a message that the code does not say any more, and none has another's."""
    said = {site.text for site in SAID}
    assert [message for message in KNOWN if message not in said] == []
    count = Counter(message for one in ENTRIES for message in one.messages)
    assert [message for message, times in count.items() if times > 1] == []


def test_each_error_is_under_its_code() -> None:
    """Where an error's class owns a code, the entry of its message has that code."""
    own = {one.__name__: int(one.code) for one in MpibootError.__subclasses__()}
    del own["ProblemsError"]  # its code is that of its problems
    assert [
        f"{site.where}: {own[site.kind]}: {KNOWN[site.text].title}"
        for site in SAID
        if site.kind in own and own[site.kind] not in KNOWN[site.text].codes
    ] == []


def test_what_is_passed_on_is_known() -> None:
    """A place that passes on words of another one tells where they are made, and that is looked at."""
    passing = {site.function for site in sites.found() if site.given}
    assert passing == set(sources.PASSED)
    made = {site.function for site in sites.found() if site.kind == "source"}
    assert set(sources.SOURCES) == made


def test_no_part_is_left_over() -> None:
    """What is said to be a part of other messages stands in the code."""
    assert {site.text for site in sites.found()} >= sources.PARTS


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: one.title)
def test_each_entry_helps(entry: troubles.Entry) -> None:
    """It has a cause and a remedy in whole sentences, and codes that exist."""
    for text in (entry.cause, entry.remedy):
        assert len(text) > 10
        assert text.endswith(".")
    assert set(entry.codes) <= {int(code) for code in errors.ExitCode}
    assert entry.messages


def test_titles_are_distinct() -> None:
    """Each title is an anchor of its own."""
    assert len({one.title for one in ENTRIES}) == len(ENTRIES)


def _refused_hosts() -> str:
    with pytest.raises(MpibootError) as told:
        parse_hostfile("w1\nw 2 x=3\n", "/etc/mpi/hostfile")
    return str(told.value)


def _refused_setting() -> str:
    with pytest.raises(MpibootError) as told:
        options.resolve({}, {"MPIBOOT_SSH_PROT": "22"}, None, [])
    return str(told.value)


def _refused_key() -> str:
    seen = [Seen(host=Host(name="w1"), reach=Reach.KEY_REFUSED, detail="user root", strikes=3)]
    terms = gather.Terms(expected=1, deadline_s=60.0, strikes=3)
    return gather.decide(seen, terms, 5.0).reason


def _lost() -> str:
    how, knock = loss.How.CLOSED, loss.Knock.REFUSED
    why = loss.explain(how, "the link was closed", knock, Memory()).why
    return f"[mpiboot launcher] error: exit 241: w1 was lost: {why}"


def _never_used() -> str:
    terms = release.Terms(first_contact_s=1.0, retry_grace_s=1.0)
    decided = release.decide(release.Seen(ready_at=0.0), terms, 2.0)
    assert isinstance(decided, release.Exit)
    return decided.reason


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (_refused_hosts(), "A host that cannot be read"),
        (_refused_setting(), "A variable or key that does not exist"),
        (_refused_key(), "A worker's state: key refused"),
        (_lost(), "A worker's sshd or MPI daemon died"),
        (_never_used(), "Nobody ever came"),
        ("rank 3 on w1 was OOM-killed (limit 4 GiB)", "Out of memory"),
    ],
)
def test_a_message_finds_its_entry(
    message: str, title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`mpiboot explain` shows the entry of a message that the code has just made, first of all."""
    assert cli.run(["explain", message]) == 0
    assert capsys.readouterr().out.startswith(title)


def test_a_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """A code of the agent's own has its meaning and its entries; a signal's its name."""
    assert cli.run(["explain", "243"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("243: mpirun said 0, the evidence says no")
    assert "mpirun says success, and the evidence says no (243)\n  cause" in shown
    assert cli.run(["explain", "139"]) == 0
    assert "SIGSEGV" in capsys.readouterr().out


def test_a_strange_text_is_not_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """A text that no message fits is an error of usage, and nothing is made up."""
    assert cli.run(["explain", "zebra"]) == 64
    assert capsys.readouterr().out == ""


def test_a_place_is_seen_whatever_its_form() -> None:
    """A text in one piece, with parts, joined, chosen, or behind a name is found as people see it."""
    source = (
        "class C:\n"
        "    def f(self, x, why):\n"
        "        text = f'no {x}' if x else 'none at all'\n"
        "        raise ConfigError(text)\n"
        "        raise ConfigError('it is ' + why, hint='do it')\n"
        "    def g(self, fault):\n"
        "        logger.warning('%s of %d is gone', 1, 2)\n"
        "        raise ConfigError(fault)\n"
    )
    found = sites.of_source("m", source, {"ConfigError"})
    assert [(one.kind, one.text, one.given) for one in found] == [
        ("ConfigError", "no …", ""),
        ("ConfigError", "none at all", ""),
        ("ConfigError", "it is …", ""),
        ("warning", "… of … is gone", ""),
        ("ConfigError", "", "fault"),
    ]


def test_a_new_message_would_be_missed() -> None:
    """A message that nobody has explained is told as such: what the first test above rests on."""
    found = sites.of_source("m", "raise ConfigError(f'the moon is {x}')", {"ConfigError"})
    assert found == [Site(where="m:1", function="m:", kind="ConfigError", text="the moon is …")]
    assert found[0].text not in KNOWN
