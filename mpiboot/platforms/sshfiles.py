"""What the files of an image and a mounted Secret tell of ssh: its port, and where the job's keys are.

For the platforms whose pods run an image with an sshd of its own; texts in, values out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mpiboot.platforms.protocol import Suggestion, Surroundings

SSH_CONFIG = "/etc/ssh/ssh_config"
SSHD_CONFIG = "/etc/ssh/sshd_config"
# Where the base images of the MPI Operator keep what a user other than root starts sshd with.
USERS_SSHD_CONFIG = "/home/mpiuser/.sshd_config"
CONFIGS = (SSHD_CONFIG, SSH_CONFIG, USERS_SSHD_CONFIG)
AUTHORIZED, PUBLIC = "authorized_keys", "id_rsa.pub"

_WORD = re.compile(r"\s*=\s*|\s+")
_FOR_ALL = frozenset(("*",))


def configs(uid: int) -> tuple[str, ...]:
    """Name the files that may tell the port, the one that counts first in front.

    An image is made for its own sshd, and the ssh in it follows that one; a user other than root
    has a configuration of its own there.
    """
    if uid:
        return (USERS_SSHD_CONFIG, SSHD_CONFIG, SSH_CONFIG)
    return (SSHD_CONFIG, SSH_CONFIG)


def port(files: Mapping[str, str], names: Sequence[str]) -> tuple[int, str] | None:
    """Find the first port that one of these files sets for everybody.

    Returns:
        the port and the file's name; None where no file sets one.
    """
    for name in names:
        found = _port_in(files.get(name, ""))
        if found is not None:
            return found, name
    return None


def _port_in(text: str) -> int | None:
    """Read `Port N` where it holds for every host; what another file says, Include or not, is not read."""
    for_all = True
    for line in text.splitlines():
        words = _WORD.split(line.strip(), maxsplit=1)
        keyword, value = words[0].lower(), words[-1].strip().strip('"')
        if keyword in ("host", "match"):
            for_all = keyword == "host" and _FOR_ALL.issuperset(value.split()) and bool(value)
        elif keyword == "port" and for_all and len(words) == 2:
            return int(value) if _is_port(value) else None
    return None


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65536


def key_files(directories: Sequence[str]) -> tuple[str, ...]:
    """Name the files by which `key_dir` recognises a job's Secret; none of them is secret."""
    return tuple(f"{place}/{name}" for place in directories for name in (AUTHORIZED, PUBLIC))


def key_dir(files: Mapping[str, str], directories: Sequence[str]) -> str:
    """Find where a job's Secret is mounted: one public key, authorised and nothing else; or empty."""
    for place in directories:
        authorized = files.get(f"{place}/{AUTHORIZED}", "").split()
        public = files.get(f"{place}/{PUBLIC}", "").split()
        if len(public) >= 2 and authorized[:2] == public[:2]:
            return place
    return ""


def homes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Name the directories where a Secret with ssh keys is usually mounted."""
    home = env.get("HOME", "").rstrip("/")
    own = (f"{home}/.ssh",) if home else ()
    return tuple(dict.fromkeys(("/root/.ssh", *own, "/home/mpiuser/.ssh")))


def suggestions(around: Surroundings) -> dict[str, Suggestion]:
    """Suggest the port of the image's own sshd, and the directory of the job's Secret."""
    found = {}
    told = port(around.files, configs(around.uid))
    if told is not None:
        found["ssh_port"] = Suggestion(value=told[0], why=f"{told[1]} says so")
    place = key_dir(around.files, homes(around.env))
    if place:
        found["key_dir"] = Suggestion(value=place, why="the job's Secret is mounted there")
    return found
