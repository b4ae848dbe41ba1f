"""What the kernel's texts about a memory cgroup mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model import memory
from mpiboot.model.memory import Place

ID = "46b55da29432969bceb363f0c8793e64"
V1 = f"""\
9:name=systemd:/docker/{ID}
4:memory:/docker/{ID}
1:cpu:/docker/{ID}
0::/docker/{ID}
"""
TMPFS = "953 952 0:243 / /sys/fs/cgroup rw,nosuid - tmpfs tmpfs rw,mode=755\n"
V1_MOUNTS = f"""\
{TMPFS}954 953 0:29 /docker/{ID} /sys/fs/cgroup/cpu ro,relatime - cgroup cgroup rw,cpu
957 953 0:32 /docker/{ID} /sys/fs/cgroup/memory ro,nosuid,relatime - cgroup cgroup rw,memory
"""
V2_MOUNTS = "1530 1529 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup rw,nsdelegate\n"
HOST_V2 = (
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,memory_recursiveprot\n"
)
HYBRID = (
    "33 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "34 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)
POD = "0::/kubepods.slice/kubepods-pod1.slice/cri-a.scope\n"


@pytest.mark.parametrize(
    ("cgroup", "mounts", "version", "directories"),
    [
        (V1, V1_MOUNTS, 1, ["/sys/fs/cgroup/memory"]),
        ("0::/\n", V2_MOUNTS, 2, ["/sys/fs/cgroup"]),
        (
            POD, HOST_V2, 2,
            [
                "/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice/cri-a.scope",
                "/sys/fs/cgroup/kubepods.slice/kubepods-pod1.slice",
                "/sys/fs/cgroup/kubepods.slice",
                "/sys/fs/cgroup",
            ],
        ),
        (POD, HOST_V2.replace(" / ", " /kubepods.slice/kubepods-pod1.slice/cri-a.scope ", 1), 2,
         ["/sys/fs/cgroup"]),
        (POD, HOST_V2.replace(" / ", " /kubepods.slice ", 1), 2,
         ["/sys/fs/cgroup/kubepods-pod1.slice/cri-a.scope", "/sys/fs/cgroup/kubepods-pod1.slice",
          "/sys/fs/cgroup"]),
        (POD, HOST_V2.replace(" / ", " /kubepods.sl ", 1), 2, ["/sys/fs/cgroup"]),
        ("0::/../other\n", HOST_V2, 2, ["/sys/fs/cgroup"]),
        ("4:memory:/a\n0::/b\n", HYBRID, 1, ["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"]),
        ("0::/\n", HOST_V2.replace("/sys/fs/cgroup", "/my\\040cgroup"), 2, ["/my cgroup"]),
    ],
    ids=["docker-v1", "namespace-v2", "host-v2", "bound-v2", "bound-above-v2", "alike-v2", "outside-v2",
         "hybrid", "blank"],
)  # fmt: skip
def test_where_the_files_are(
    cgroup: str, mounts: str, version: int, directories: list[str]
) -> None:
    """Docker's two ways, the host's own view, a bound part of it, and both versions beside each other."""
    place = memory.places(cgroup, mounts)[0]
    assert (place.version, place.directories) == (version, directories)


def test_no_memory_cgroup() -> None:
    """Where there is none, nothing is read."""
    assert memory.places("0::/\n", TMPFS) == []
    assert memory.places("3:cpu:/\n", V1_MOUNTS) == []
    assert memory.places("", "") == []


def test_counters() -> None:
    """Numbers are read, and `no limit` in both its forms is no limit."""
    events = "low 0\nhigh 0\nmax 41\noom 2\noom_kill 3\noom_group_kill 0\n"
    assert memory.entry(events, "oom_kill") == 3
    assert memory.entry("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", "oom_kill") == 1
    assert memory.entry("oom_kill_disable 0\nunder_oom 0\n", "oom_kill") is None
    assert memory.count("104857600\n") == 104857600
    assert memory.count("max\n") is None
    assert memory.count("9223372036854771712\n") is None
    assert memory.count("") is None
    assert memory.least([None, 300, 200, None]) == 200
    assert memory.least([None]) is None


def test_the_working_set_is_without_idle_file_cache() -> None:
    """It is use less that cache, never below zero, and unknown where use is."""
    stat = "anon 100\ninactive_file 700\ntotal_inactive_file 800\n"
    assert memory.working_set("1000\n", stat, "inactive_file") == 300
    assert memory.working_set("1000\n", stat, "total_inactive_file") == 200
    assert memory.working_set("600\n", stat, "inactive_file") == 0
    assert memory.working_set("1000\n", "", "inactive_file") == 1000
    assert memory.working_set("", stat, "inactive_file") is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_bearable(cgroup: str, mounts: str) -> None:
    """Whatever a kernel says, it is read or left."""
    for place in memory.places(cgroup, mounts):
        assert isinstance(place, Place)
    memory.entry(cgroup, "oom_kill")
    memory.count(mounts)
