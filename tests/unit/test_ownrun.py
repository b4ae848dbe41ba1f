"""Does a command start an MPI launcher itself?"""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import ownrun, shellwords
from mpiboot.plan.ownrun import Own, Where

FOUND = {
    "mpirun -np 2 python train.py": ("mpirun", 0),
    "/opt/openmpi/bin/mpirun --version-of-data 3 ./a.out": ("/opt/openmpi/bin/mpirun", 0),
    "mpiexec.hydra -n 2 ./a.out": ("mpiexec.hydra", 0),
    "mpirun.openmpi -n 2 ./a.out": ("mpirun.openmpi", 0),
    "horovodrun -np 2 python train.py": ("horovodrun", 0),
    "env A=1 B='x y' mpirun ./a.out": ("mpirun", 3),
    "env -i -u HOME PATH=/bin mpiexec -n 2 ./a.out": ("mpiexec", 5),
    "/usr/bin/env -- mpirun ./a.out": ("mpirun", 2),
    "timeout -k 5 --signal=INT 60 orterun ./a.out": ("orterun", 5),
    "timeout 60 env A=1 nice -n 5 mpirun ./a.out": ("mpirun", 7),
    "nohup stdbuf -oL mpirun ./a.out": ("mpirun", 3),
    "stdbuf -o L prterun ./a.out": ("prterun", 3),
    "time -p mpirun ./a.out": ("mpirun", 2),
    "tini -g -- mpirun ./a.out": ("mpirun", 3),
    "dumb-init mpirun ./a.out": ("mpirun", 1),
    "taskset -c 0-3 mpirun ./a.out": ("mpirun", 3),
    "numactl --cpunodebind=0 -m 0 mpirun ./a.out": ("mpirun", 4),
    "mpirun": ("mpirun", 0),
}
NOT_FOUND = (
    "echo mpirun",
    "python mpirun.py",
    "./mpirun_wrapper -np 2",
    "python train.py --launcher mpirun",
    "env MPI=mpirun python train.py",
    "env -S 'mpirun -np 2'",
    "timeout 60",
    "command -v mpirun",
    "which mpirun",
    "mpirun --version",
    "/usr/bin/mpiexec -V",
    "sh -c 'echo mpirun'",
    "sh -c 'mpirun --version | head -1; python train.py'",
    "sh -c 'command -v mpirun >/dev/null && python train.py'",
    "sh -c 'python mpirun.py # mpirun -np 2'",
    "sh -c \"echo 'a; mpirun -np 2'\"",
    "sh -c 'cat > mpirun'",
    "sh -c 'cat <<END\nmpirun -np 2 x\nEND\npython train.py'",
    "sh -c 'for f in mpirun mpiexec; do echo $f; done'",
    "sh -c 'MPI=mpirun python train.py'",
    "sh -c",
    "sh",
    "",
)
INLINE = (
    "mpirun -np 2 python train.py",
    "exec mpirun -np 2 x",
    "cd /app && mpirun -np 2 x",
    "cd /app; FOO=1 BAR='a b' mpirun x",
    "set -e\n# the job\nexport A=1\nmpirun \\\n  -np 2 \\\n  x 2>&1 | tee log",
    "if true; then mpirun x; fi",
    "while ! ready; do sleep 1; done; mpirun x",
    "( mpirun x )",
    "{ mpirun x; }",
    'run() { mpirun "$@"; }; run x',
    "out=$(mpirun x)",
    "out=`mpirun x`",
    'echo "result: $(mpirun x)"',
    ">log 2>&1 mpirun x",
    "timeout 60 mpirun x || echo late",
    "env A=1 mpirun x &\nwait",
    "bash -lc 'mpirun x'",
    "case $1 in a) mpirun x;; esac",
    "cat <<'END' >conf\nit's \"text\nEND\nmpirun x",
    "! mpirun x",
)  # fmt: skip


@pytest.mark.parametrize("text", FOUND)
def test_a_word_of_the_command(text: str) -> None:
    """A launcher is found behind programs that become another one, with its place."""
    program, at = FOUND[text]
    assert ownrun.find(shlex.split(text)) == Own(program=program, where=Where.ARGV, at=at)


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_mention_does_not_count(text: str) -> None:
    """Neither does a question about the launcher."""
    assert ownrun.find(shlex.split(text)) is None


@pytest.mark.parametrize("text", INLINE)
def test_in_the_text_for_a_shell(text: str) -> None:
    """A simple command of `sh -c` that starts a launcher is found, wherever it stands."""
    expected = Own(program="mpirun", where=Where.INLINE)
    assert ownrun.find(["sh", "-c", text]) == expected
    assert ownrun.find(["env", "A=1", "/bin/bash", "-euxo", "pipefail", "-c", text, "name"]) == (
        expected
    )


@pytest.mark.parametrize(
    "text",
    ['MPI="mpirun -np 2"; $MPI x', "MPI=mpirun\n${MPI} -np 2 x", "${MPI:-mpirun} -np 2 x"],
)
def test_behind_a_variable(text: str) -> None:
    """A launcher that a variable holds is found, but not for sure."""
    expected = Own(program="mpirun", where=Where.INLINE, sure=False)
    assert ownrun.find(["sh", "-c", text]) == expected


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("sh run.sh", "run.sh"),
        ("bash -x -o pipefail /app/run.sh a b", "/app/run.sh"),
        ("bash --norc --rcfile x run.sh", "run.sh"),
        ("./run.sh a", "./run.sh"),
        ("env A=1 timeout 60 ./run.sh", "./run.sh"),
        ("train", "train"),
        ("python run.py", "python"),
        ("sh -c 'mpirun x'", ""),
        ("mpirun ./run.sh", ""),
        ("sh -s", ""),
        ("timeout 60", ""),
    ],
)
def test_which_file_to_read(command: str, file: str) -> None:
    """The file that a shell is given, or that runs as a program, is named; else there is none."""
    assert ownrun.script_of(shlex.split(command)) == file


def test_in_a_script_file() -> None:
    """A script file counts by its text; as a program of its own it needs a shell's first line."""
    expected = Own(program="mpirun", where=Where.SCRIPT)
    body = "set -e\nmpirun -np 2 x\n"
    assert ownrun.find(["sh", "run.sh"], body) == expected
    for first in ("#!/bin/sh -e\n", "#! /usr/bin/env bash\n", "#!/usr/bin/env -S bash -e\n"):
        assert ownrun.find(["./run.sh"], first + body) == expected
    assert ownrun.find(["./run.py"], "#!/usr/bin/python3\nmpirun = 2\nmpirun\n") is None
    assert ownrun.find(["./run.sh"], body) is None
    assert ownrun.find(["sh", "run.sh"]) is None
    assert ownrun.find(["python", "run.sh"], "\x7fELF\x02mpirun x") is None


def test_names() -> None:
    """Horovod's launcher is told from the others, by its name alone."""
    found = ownrun.find(["/opt/hvd/bin/horovodrun", "-np", "2", "x"])
    assert found is not None
    assert found.horovodrun
    assert found.name == "horovodrun"


@given(st.text(alphabet="ab \n\t'\"\\$(){}`;|&<>#=-x", max_size=60))
def test_any_text_ends(text: str) -> None:
    """No text makes the reader fail or run for ever, and each command has words."""
    assert all(words for words in shellwords.commands(text))
    ownrun.find(["sh", "-c", text])
