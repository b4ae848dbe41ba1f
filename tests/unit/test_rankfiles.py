"""Files of ranks: they turn over at the ends of lines, and what cannot be written harms nobody."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan.frames import Record
from mpiboot.plan.lines import LONGEST_LINE
from mpiboot.plan.rotation import portion
from mpiboot.report.rankfiles import RankFiles

PIECES = st.lists(st.sampled_from([b"\n", b"a", b"bcd\n", b"x" * 20, b"\n\n"]), max_size=30)


def turned(pieces: list[bytes], most: int) -> list[bytes]:
    """Return the files that pieces become."""
    files = [b""]
    for piece in pieces:
        rest = piece
        while rest:
            last = files[-1]
            whole = not last or last.endswith(b"\n")
            count, full = portion(len(last), rest, most, whole=whole)
            assert count or full, "something happens"
            files[-1] += rest[:count]
            rest = rest[count:]
            if full:
                files.append(b"")
    return files


@given(PIECES, st.integers(1, 50))
def test_files_end_with_lines(pieces: list[bytes], most: int) -> None:
    """Nothing is lost, each full file ends with a line, and is no longer than its bound and a line."""
    files = turned(pieces, most)
    assert b"".join(files) == b"".join(pieces)
    for full in files[:-1]:
        assert full.endswith(b"\n")
        assert len(full) <= most or full.rfind(b"\n", 0, -1) < most
    assert turned(pieces, 0) == [b"".join(pieces)]


def test_an_endless_line_is_cut() -> None:
    """No file grows beyond the bound and LONGEST_LINE together."""
    files = turned([b"x" * 4000] * 1000, 1 << 20)
    assert max(map(len, files)) == (1 << 20) + LONGEST_LINE
    assert portion((1 << 21), b"x", 1 << 20, whole=False) == (0, True)


def files(place: Path, **options: object) -> tuple[RankFiles, list[Path]]:
    lost: list[Path] = []
    given_options = {"most_mb": 0, "keep": 2, "append": False, **options}
    made = RankFiles(str(place), complain=lambda path, _: lost.append(path), **given_options)  # type: ignore[arg-type]
    return made, lost


def test_full_files_grow_older_and_the_oldest_goes(tmp_path: Path) -> None:
    """The names say the age; no more than --output-keep of them stay."""
    made, lost = files(tmp_path, most_mb=1)
    line = b"%07d\n"
    numbers = range(4 * (1 << 20) // 8 + 10)
    for first in range(0, len(numbers), 500):
        data = b"".join(line % number for number in numbers[first : first + 500])
        made.write(Record(3, "o", 0, data))
    made.close()
    names = ["rank.3.out", "rank.3.out.1", "rank.3.out.2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    kept = b"".join((tmp_path / name).read_bytes() for name in reversed(names))
    assert kept.splitlines() == [b"%07d" % number for number in numbers[-(len(kept) // 8) :]]
    assert all((tmp_path / name).stat().st_size <= 1 << 20 for name in names)
    assert (tmp_path / "rank.3.out.2").stat().st_size > (1 << 20) - 8
    assert lost == []


def test_no_full_file_stays_where_none_is_to(tmp_path: Path) -> None:
    """With keep 0 there is one file, and it is bounded."""
    made, _ = files(tmp_path, most_mb=1, keep=0)
    for _ in range(600):
        made.write(Record(0, "e", 0, (b"x" * 3999) + b"\n"))
    made.close()
    assert [path.name for path in tmp_path.iterdir()] == ["rank.0.err"]
    assert (tmp_path / "rank.0.err").stat().st_size <= 1 << 20


def test_a_new_job_begins_anew_and_a_resumed_one_goes_on(tmp_path: Path) -> None:
    """Full files of another job do not stand beside this one's."""
    for name in ("rank.0.out", "rank.0.out.1", "rank.0.out.2"):
        (tmp_path / name).write_text("former\n")
    made, _ = files(tmp_path, append=True)
    made.write(Record(0, "o", 0, b"new\n"))
    made.close()
    assert (tmp_path / "rank.0.out").read_text() == "former\nnew\n"
    made, _ = files(tmp_path)
    made.write(Record(0, "o", 0, b"new\n"))
    made.close()
    assert (tmp_path / "rank.0.out").read_text() == "new\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rank.0.out"]


def test_more_ranks_than_open_files(tmp_path: Path) -> None:
    """Files are closed and opened again, and nothing is lost."""
    made, lost = files(tmp_path)
    for word in (b"one ", b"two\n"):
        for rank in range(200):
            made.write(Record(rank, "o", 0, word))
    opened = sum("rank." in str(fd.resolve()) for fd in Path("/proc/self/fd").iterdir())
    assert opened <= 64
    made.close()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b"one two\n"}
    assert lost == []


def test_a_file_that_cannot_be_written_is_told_of_once(tmp_path: Path) -> None:
    """The others are written, and where there is room again it goes on with a line of its own."""
    made, lost = files(tmp_path)
    made.write(Record(0, "o", 0, b"begun"))
    made.close()
    (tmp_path / "rank.0.out").rename(tmp_path / "away")
    (tmp_path / "rank.0.out").mkdir()
    for rank in (0, 0, 1):
        made.write(Record(rank, "o", 0, b"lost\n"))
    assert lost == [tmp_path / "rank.0.out"]
    assert (tmp_path / "rank.1.out").read_bytes() == b"lost\n"
    (tmp_path / "rank.0.out").rmdir()
    (tmp_path / "away").rename(tmp_path / "rank.0.out")
    made.write(Record(0, "o", 0, b"again\n"))
    made.close()
    assert (tmp_path / "rank.0.out").read_bytes() == b"begun\nagain\n"
