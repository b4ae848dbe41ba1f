"""Who this is and what it may do: role, settings, user, privileges, sshd, ssh, keys."""

from __future__ import annotations

from collections.abc import Iterator

from mpiboot.errors import ConfigError
from mpiboot.model import checkup
from mpiboot.model.checkup import Checkup, Trial
from mpiboot.model.diagnosis import Finding
from mpiboot.plan import privileges
from mpiboot.plan.doctor.findings import doubtful, good, tried


def role(seen: Checkup) -> Iterator[Finding]:
    """Say which role is judged; one that nobody knows has to be told."""
    if seen.identity.fault:
        yield doubtful(
            f"{seen.identity.fault}; judged as a {seen.role}",
            seen.identity.remedy or "call `mpiboot worker` or `mpiboot launcher`",
        )
        return
    yield good(f"{seen.role}: {seen.identity.text}")


def platform(seen: Checkup) -> Iterator[Finding]:
    """Say where this is, as far as a platform's own variables and files tell."""
    nothing = Trial(text="none that mpiboot knows: role and workers are what you name")
    yield tried(seen.platform if seen.platform.text or seen.platform.fault else nothing)


def settings(seen: Checkup) -> Iterator[Finding]:
    """List what was chosen, and by whom."""
    yield good("; ".join(seen.settings) or "defaults only")


def user(seen: Checkup) -> Iterator[Finding]:
    """OpenSSH wants an account; a session wants its shell and its home."""
    who = seen.user
    if seen.rsh_agent:
        yield good(f"uid {who.uid}:{who.gid}; no SSH takes part, so no account is needed")
        return
    if who.account.fault:
        yield tried(who.account)
        return
    yield good(f"{who.account.text}, uid {who.uid}:{who.gid}, home {who.home}")
    if not who.home_there:
        yield doubtful(
            f"the home directory {who.home} is not there: sshd complains in each session",
            "make it in the image, or mount a volume there",
        )
    if who.home_env and who.home_env.rstrip("/") != who.home.rstrip("/"):
        yield good(f"HOME is {who.home_env}: keys are looked for there, too, and OpenSSH is told")
    if who.locked:
        yield doubtful(
            f"the account {who.account.text} is locked with `!`: sshd lets it in through PAM only",
            f"usermod -p '*' {who.account.text} in the image",
        )


def allowed(seen: Checkup) -> Iterator[Finding]:
    """Judge capabilities as a worker does at its start."""
    demanded = seen.demanded
    barred = privileges.barred(seen.privileges, demanded)
    if barred:
        if seen.copy.fault:
            yield tried(seen.copy)
            return
        told = ", ".join(sorted(barred))
        yield doubtful(
            f"sshd's file demands {told}, which is not to be had here: a copy of it will be run",
            "setcap -r on sshd in the image",
        )
        demanded = frozenset()
    try:
        privileges.check_serving(seen.privileges, port=seen.ssh_port, demanded=demanded)
    except ConfigError as fault:
        yield tried(checkup.failed(fault))
        return
    own = seen.privileges
    gains = "; no new privileges" if own.no_new_privs else ""
    lowest = own.unprivileged_port
    ports = f"ports from {lowest} on are" if lowest > 1 else "every port is"
    yield good(f"{_listed(own.held)}{gains}; {ports} free to all")


def _listed(names: frozenset[str]) -> str:
    known = sorted(name for name in names if not name.startswith("CAP_"))
    others = len(names) - len(known)
    if not names:
        return "no capabilities, and none needed"
    return f"capabilities {', '.join(known)}{f' and {others} more' if others else ''}"


def sshd(seen: Checkup) -> Iterator[Finding]:
    """Say which sshd would run."""
    yield tried(seen.sshd)


def ssh(seen: Checkup) -> Iterator[Finding]:
    """Say which ssh mpirun would start; with a program in its place nothing of SSH is needed."""
    if seen.rsh_agent:
        yield good(
            f"not needed: workers are reached through {seen.rsh_agent}; sshd, keys and privileges are"
            " not looked at"
        )
    elif seen.ssh.text and seen.ssh.remedy:  # what fails is told of the user, and once is enough
        yield doubtful(seen.ssh.text, seen.ssh.remedy)
    else:
        yield tried(seen.ssh)


def keys(seen: Checkup) -> Iterator[Finding]:
    """Say where the keys come from."""
    yield tried(seen.keys)
