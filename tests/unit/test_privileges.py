"""Whether sshd can start, listen, and let somebody in, by what the container may do."""

from __future__ import annotations

import pytest

from mpiboot.errors import ConfigError
from mpiboot.model.privileges import BITS, Privileges, named
from mpiboot.plan import privileges

BIND = frozenset({"NET_BIND_SERVICE"})
LOGINS = frozenset({"SYS_CHROOT", "SETUID", "SETGID"})
DOCKERS = LOGINS | BIND | {"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "AUDIT_WRITE"}


def held(uid: int, names: frozenset[str], **more: bool | int) -> Privileges:
    mine = names if uid == 0 else frozenset()
    return Privileges(uid=uid, held=mine, bounding=names, **more)  # type: ignore[arg-type]


def test_a_mask_names_its_capabilities() -> None:
    """Docker's own set reads as its documentation has it; what has no name here has its number."""
    assert named(0xA80425FB) >= DOCKERS
    assert named(1 << 40) == {"CAP_40"}
    assert named(sum(1 << bit for bit in BITS.values())) == set(BITS)


@pytest.mark.parametrize(
    ("own", "port", "demanded"),
    [
        (held(0, DOCKERS), 22, frozenset()),
        (held(0, LOGINS | BIND), 22, BIND),
        (held(0, LOGINS, unprivileged_port=0), 22, frozenset()),
        (held(1000, DOCKERS), 2222, BIND),
        (held(1000, DOCKERS, no_new_privs=True), 2222, BIND),
        (held(1000, frozenset()), 2222, frozenset()),
        (held(1000, DOCKERS), 22, BIND),
        (held(1000, frozenset(), unprivileged_port=0), 22, frozenset()),
    ],
)
def test_sshd_can_serve(own: Privileges, port: int, demanded: frozenset[str]) -> None:
    """Rows of the contract that work: root with three capabilities, others with none."""
    privileges.check_serving(own, port=port, demanded=demanded)
    assert not privileges.barred(own, demanded)


@pytest.mark.parametrize(
    ("own", "port", "told"),
    [
        (held(0, frozenset()), 2222, "SETGID, SETUID, SYS_CHROOT"),
        (held(0, BIND), 22, "each login would die"),
        (held(0, DOCKERS - {"SYS_CHROOT"}), 22, "capability SYS_CHROOT"),
        (held(0, LOGINS), 22, "NET_BIND_SERVICE"),
        (held(1000, frozenset()), 22, "from 1024 on with --ssh-port"),
        (held(1000, DOCKERS, no_new_privs=True), 22, "NET_BIND_SERVICE"),
    ],
)
def test_sshd_cannot_serve(own: Privileges, port: int, told: str) -> None:
    """Rows that cannot work say what is missing and what to change."""
    with pytest.raises(ConfigError) as caught:
        privileges.check_serving(own, port=port, demanded=BIND if own.no_new_privs else frozenset())
    assert told in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("uid", [0, 1000])
def test_a_file_that_demands_what_nobody_may_have_is_barred(uid: int) -> None:
    """The kernel refuses to start it (EPERM), for root as for others."""
    assert privileges.barred(held(uid, frozenset()), BIND) == BIND
    assert not privileges.barred(held(uid, BIND, no_new_privs=True), BIND)
