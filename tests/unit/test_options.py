"""Settings come from flag > variable > file > default; every problem is named, all at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpiboot.errors import ExitCode, ProblemsError
from mpiboot.model import flags, options
from mpiboot.model.options import ConfigFile, Resolved
from mpiboot.model.record import fields
from mpiboot.model.settings import Settings, specs
from mpiboot.model.spec import LAUNCHER
from mpiboot.model.values import convert
from tests.helpers.quickly import quickly


def resolve(*argv: str, env: Mapping[str, str] | None = None, yaml: str | None = None) -> Resolved:
    made = flags.parser("mpiboot launcher", LAUNCHER, "")
    given, problems = flags.parse(made, argv)
    given.pop("config", None)
    file = None if yaml is None else ConfigFile(name="c.yaml", text=yaml)
    return options.resolve(given, env or {}, file, problems)


def problems(
    *argv: str, env: Mapping[str, str] | None = None, yaml: str | None = None
) -> Sequence[str]:
    with pytest.raises(ProblemsError) as caught:
        resolve(*argv, env=env, yaml=yaml)
    return caught.value.problems


def test_precedence_and_origins() -> None:
    """A flag beats a variable, which beats the file, which beats the default; each is traced."""
    env = {"MPIBOOT_NP": "3", "MPIBOOT_STRIKES": "4"}
    yaml = "np: 2\nstrikes: 2\nslots: 2\n"

    got = resolve("-np", "5", env=env, yaml=yaml)

    chosen = got.settings
    assert (chosen.np, chosen.strikes, chosen.slots, chosen.progress) == (5, 4, "2", "auto")
    assert got.origins["np"] == "flag --np"
    assert got.origins["strikes"] == "environment MPIBOOT_STRIKES"
    assert got.origins["slots"] == "c.yaml slots"
    assert got.origins["progress"] == "default"


def test_defaults_are_valid() -> None:
    """Every default passes its own declaration."""
    for spec in specs():
        if spec.kind not in ("words", "pairs"):
            assert convert(spec, spec.default) == spec.default


def test_unknown_names_are_named_with_the_nearest_valid_one() -> None:
    """A misspelt flag, variable and key are all told, each with its origin and its neighbour."""
    told = "\n".join(
        problems("--hostz", "a", env={"MPIBOOT_WORKER": "1"}, yaml="wait_timeuot: 3\n")
    )

    assert "--hostz (nearest valid: --hosts)" in told
    assert "environment: unknown variable MPIBOOT_WORKER (nearest valid: MPIBOOT_WORKERS)" in told
    assert "c.yaml: unknown key wait_timeuot (nearest valid: wait_timeout)" in told


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"MPIBOOT_HTTP_PORT": "70000"}, "0 to 65535"),
        ({"MPIBOOT_HTTP_PORT": "x"}, "a whole number"),
        ({"MPIBOOT_WAIT_TIMEOUT": "soon"}, "seconds"),
        ({"MPIBOOT_WAIT_TIMEOUT": "nan"}, "0.1 to"),
        ({"MPIBOOT_WAIT_TIMEOUT": "0"}, "0.1 to"),
        ({"MPIBOOT_LOG_LEVEL": "loud"}, "one of debug, info, warning, error"),
        ({"MPIBOOT_SLOTS": "0"}, "a number from 1 to 100000, or auto"),
        ({"MPIBOOT_FAILURE_IS_FINAL": "perhaps"}, "yes or no"),
        ({"MPIBOOT_MCA": "btl"}, "KEY=VALUE"),
        ({"MPIBOOT_EXPORT": "'open"}, "as a shell would split"),
    ],
)
def test_a_bad_value_names_its_origin_and_what_was_expected(
    env: Mapping[str, str], told: str
) -> None:
    """A value out of range or of the wrong kind is refused with the words for what is right."""
    (problem,) = problems(env=env)
    assert next(iter(env)) in problem
    assert told in problem


def test_the_code_tells_the_command_line_from_the_rest() -> None:
    """64 when the command line has a part in it, else 78."""
    for argv, env, code in (
        (["--np", "x"], {}, ExitCode.USAGE),
        ([], {"MPIBOOT_NP": "x"}, ExitCode.CONFIG),
        (["--nope"], {"MPIBOOT_NP": "x"}, ExitCode.USAGE),
    ):
        with pytest.raises(ProblemsError) as caught:
            resolve(*argv, env=env)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("2m", 120), ("1h", 3600), ("250ms", 0.25)],
)
def test_durations(text: str, seconds: float) -> None:
    """A duration is seconds, or a number with a unit."""
    assert resolve("--wait-timeout", text).settings.wait_timeout_s == seconds


def test_lists_in_all_three_places() -> None:
    """Repeated flags, shell-like words in a variable, and YAML lists or maps mean the same."""
    flag = resolve("-x", "A", "-x", "B=1 2", "--mca", "btl", "tcp,self").settings
    variable = resolve(env={"MPIBOOT_EXPORT": "A 'B=1 2'", "MPIBOOT_MCA": "btl=tcp,self"}).settings
    file = resolve(yaml="export: [A, 'B=1 2']\nmca: {btl: 'tcp,self'}\n").settings

    assert flag.export == variable.export == file.export == ("A", "B=1 2")
    assert flag.mca == variable.mca == file.mca == ("btl=tcp,self",)


def test_the_secret_is_never_in_a_message() -> None:
    """A secret that is refused is not shown."""
    told = problems(env={"MPIBOOT_SECRET": "hush\0hush"})
    assert "hush" not in "".join(told)


def test_the_entry_scripts_parcel_is_no_setting() -> None:
    """MPIBOOT_JOB_* carries the job's own variables and is no unknown name."""
    assert resolve(env={"MPIBOOT_JOB_LD_LIBRARY_PATH": "/x"}).settings == Settings()


@pytest.mark.parametrize(
    "yaml", ["[a, b]", "a: [", "- 1", "!!python/object:os.system {}", "&a [*a]", "\0"]
)
def test_a_file_that_is_no_mapping_is_one_clear_line(yaml: str) -> None:
    """Whatever the file holds, the answer is a problem that names the file."""
    (problem,) = problems(yaml=yaml)
    assert problem.startswith("c.yaml: ")
    assert "\n" not in problem


def test_an_empty_file_says_nothing() -> None:
    """An empty file and a null value leave the default."""
    assert resolve(yaml="").settings == Settings()
    assert resolve(yaml="np:\n").settings == Settings()


def test_the_command_is_whatever_follows_the_dashes() -> None:
    """Only the first `--` is ours; the job keeps its own, and its flags are not read as ours."""
    assert options.split_command(["-np", "2", "--", "prog", "--np", "--", "x"]) == (
        ["-np", "2"],
        ["prog", "--np", "--", "x"],
    )
    assert options.split_command(["-np", "2"]) == (["-np", "2"], None)
    (problem,) = problems("python", "train.py")
    assert "goes after --" in problem


def test_every_field_has_a_unique_flag_variable_and_key() -> None:
    """No two settings share a name anywhere."""
    listed = list(specs())
    for names in (
        [spec.key for spec in listed],
        [spec.variable for spec in listed],
        [flag for spec in listed for flag in (*spec.short, spec.flag)],
    ):
        assert len(names) == len(set(names))
    assert {spec.name for spec in listed} == {field.name for field in fields(Settings)}


@given(st.dictionaries(st.sampled_from([spec.variable for spec in specs()]), st.text(max_size=30)))
def test_any_value_is_taken_or_refused_by_name(env: dict[str, str]) -> None:
    """No text in a variable causes anything but settings or problems."""
    try:
        assert isinstance(resolve(env=env).settings, Settings)
    except ProblemsError as fault:
        assert all(problem.startswith("environment MPIBOOT_") for problem in fault.problems)


@given(st.text(max_size=80))
def test_any_file_is_taken_or_refused_by_name(text: str) -> None:
    """No text in the file causes anything but settings or problems."""
    try:
        assert isinstance(resolve(yaml=text).settings, Settings)
    except ProblemsError as fault:
        assert all(problem.startswith("c.yaml") for problem in fault.problems)


def test_what_is_usual_at_a_place_never_overrules_the_user() -> None:
    """A platform's value takes the default's place, says why, and gives way to any other word."""
    chosen = resolve("--np", "4", env={"MPIBOOT_SSH_PORT": "2022"})
    usual = {
        "ssh_port": (22, "there: port"),
        "np": (1, "there: ranks"),
        "strikes": (9, "there: so"),
    }
    got = options.fit(chosen, usual)
    settings = got.settings
    assert (settings.np, settings.ssh_port, settings.strikes) == (4, 2022, 9)
    assert got.origins["strikes"] == "there: so"
    assert got.origins["np"] == "flag --np"


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    "yaml",
    [
        BOMB,
        "a\n0: 4,[f\u03a2,b:2",  # a sign that nobody can print is quoted in its library's message
        "<<: [&a {x: 1}, *a]",
        "np: !!int ''",
        "progress: !!bool x",
        "np: !!timestamp x",
        "np: !!float ''",
        "? [a]\n: 1",
        "[" * 100_000,
        "np: " + "1" * 5000,
        "x" * 300_000,
        f"np: 0x{'f' * 10_000}",
        f"heartbeat: 0x{'f' * 10_000}",
        f"slots: 0x{'f' * 10_000}",
        f"0x{'f' * 10_000}: 1",
        f"hosts: 0x{'f' * 10_000}",
        "np: " + ":".join(["59"] * 5000),
        "np: .inf",
        'hosts: "a\\uD800b"',
        'export: ["A=\\uD800"]',
        'mpirun-arg: "a\\0b"',
        "heartbeat: .nan",
        '"a\\nb\\e[2J": 1',
        f"{'k' * 10_000}: 1",
        f"np: {'k' * 10_000}",
    ],
)
def test_no_file_is_more_than_one_short_line(yaml: str) -> None:
    """Bombs of aliases, tags that YAML's library trips over, numbers without an end, control characters."""
    with quickly(20.0):
        (problem,) = problems(yaml=yaml)
    assert problem.startswith("c.yaml")
    assert problem.isprintable()
    assert len(problem) < 600


@pytest.mark.parametrize("value", ["1e400", "inf", "nan", "²s", "9" * 400, "00000001999999"])
@pytest.mark.parametrize("name", ["MPIBOOT_JOB_TIMEOUT", "MPIBOOT_SLOTS", "MPIBOOT_READY_TIMEOUT"])
def test_no_number_is_endless(name: str, value: str) -> None:
    """What is no time that a clock could show is refused, with what was expected."""
    env = {name: value}
    if name in {spec.variable for spec in specs()}:
        (problem,) = problems(env=env)
        assert problem.startswith(f"environment {name}: ")


def test_bytes_that_are_no_utf_8_stay_what_they_are() -> None:
    """A path in a variable may be any bytes."""
    assert resolve(env={"MPIBOOT_WDIR": "/a\udcff"}).settings.wdir == "/a\udcff"


def test_a_variable_of_ours_adds_no_line_to_a_message() -> None:
    """The name of a variable is quoted without what could end a line."""
    (problem,) = problems(env={"MPIBOOT_a\nb\x1b[2J": "x"})
    assert problem.startswith("environment: unknown variable MPIBOOT_ab[2J")


TAKEN = {
    "int": ["1", "7"], "seconds": ["7", "2.5"], "flag": ["yes", "no"], "slots": ["auto", "3"],
    "text": ["x y", "--x", "ü"], "path": ["/a b", "--x"],
}  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_flag_variable_and_file_agree(data: st.DataObject) -> None:
    """The same text means the same wherever it is given, or is refused everywhere."""
    spec = data.draw(st.sampled_from([s for s in specs(LAUNCHER) if s.kind in TAKEN]))
    text = data.draw(st.sampled_from(TAKEN[spec.kind]))
    if spec.choices:
        text = data.draw(st.sampled_from([one for one in spec.choices if one] or [text]))
    sign = "--" if text == "yes" else "--no-"
    flag = sign + spec.flag[2:] if spec.kind == "flag" else f"{spec.flag}={text}"
    quoted = json.dumps(text, ensure_ascii=False)
    ways: list[Callable[[], Resolved]] = [
        lambda: resolve(flag),
        lambda: resolve(env={spec.variable: text}),
        lambda: resolve(yaml=f"{spec.key}: {quoted}"),
    ]
    found = []
    for way in ways:
        try:
            found.append(getattr(way().settings, spec.name))
        except ProblemsError:
            found.append("refused")
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MPIBOOT_SERVICE_HOST", "10.0.0.1"),
        ("MPIBOOT_SERVICE_PORT", "9650"),
        ("MPIBOOT_SERVICE_PORT_HTTP", "9650"),
        ("MPIBOOT_PORT", "tcp://10.0.0.1:9650"),
        ("MPIBOOT_PORT_9650_TCP", "tcp://10.0.0.1:9650"),
        ("MPIBOOT_PORT_9650_TCP_ADDR", "10.0.0.1"),
        ("MPIBOOT_TRAIN_PORT_22_TCP_PROTO", "tcp"),
    ],
)
def test_a_service_called_mpiboot_sets_no_setting(name: str, value: str) -> None:
    """What Kubernetes tells each container of a Service is no mistake of anybody's."""
    assert (
        options.resolve({}, {name: value}, None, []).settings
        == options.resolve({}, {}, None, []).settings
    )


@pytest.mark.parametrize(("name", "value"), [("MPIBOOT_PORT", "22"), ("MPIBOOT_SSHPORT", "tcp")])
def test_a_variable_that_only_looks_like_a_services_is_refused(name: str, value: str) -> None:
    """A mistyped setting is still told."""
    with pytest.raises(ProblemsError, match="unknown variable"):
        options.resolve({}, {name: value}, None, [])
