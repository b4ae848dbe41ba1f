"""sshd_config, ssh_config and known_hosts as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mpiboot.model.record import dataclass
from mpiboot.plan import algorithms
from mpiboot.plan.knownhosts import KnownHosts
from mpiboot.plan.layout import Place
from mpiboot.plan.startups import Startups

SUBSYSTEM = "mpiboot"


@dataclass(frozen=True, kw_only=True)
class ServerTerms:
    """What an sshd_config depends on.

    Attributes:
        port: port to listen on.
        address: address to listen on; empty: all.
        user: the one user who may log in.
        sources: addresses, networks and patterns from which that may be; none: from all.
        pty: whether people get a terminal.
        startups: how many logins may be under way.
        host_keys: paths of host keys.
        authorized_keys: path of the authorized_keys file.
        environment: variables for every session.
        bridge: command line of the link's bridge, a path and its words.
        log_level: sshd's LogLevel.
        openssh: version as (major, minor).
        use_pam: whether PAM has to open the session (an account locked with `!`).
        strict_modes: no only where the private directory lies under one that all may write, like
            /tmp: sshd then refuses any file below it, however private.
    """

    port: int
    user: str
    host_keys: Sequence[str]
    authorized_keys: str
    environment: Mapping[str, str]
    bridge: Sequence[str]
    log_level: str
    openssh: tuple[int, int]
    use_pam: bool
    strict_modes: bool
    startups: Startups
    address: str = ""
    sources: Sequence[str] = ()
    pty: bool = False


# The words of the oldest OpenSSH that is supported, 8.0; what came later is in `_newer`.
_FIXED = (
    "AuthenticationMethods publickey",
    "PubkeyAuthentication yes",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "HostbasedAuthentication no",
    "GSSAPIAuthentication no",
    "PermitEmptyPasswords no",
    "AuthorizedKeysCommand none",
    "AuthorizedPrincipalsCommand none",
    "AuthorizedPrincipalsFile none",
    "TrustedUserCAKeys none",
    "PermitRootLogin prohibit-password",
    "PermitUserEnvironment no",
    "PermitUserRC no",
    # The first of these five is enough; the others say the same where it should ever be turned off.
    "DisableForwarding yes",
    "PermitTunnel no",
    "GatewayPorts no",
    "PermitOpen none",
    "PermitListen none",
    "UseDNS no",
    "PrintMotd no",
    "PrintLastLog no",
    "PidFile none",
    "Compression no",
    "TCPKeepAlive yes",
    "ClientAliveInterval 15",
    "ClientAliveCountMax 4",
    # A login takes 0.1 s and a slow one 5 s; who takes longer holds a place that others need.
    "LoginGraceTime 20",
    # Keys cannot be guessed; a person's ssh may offer a few before the right one.
    "MaxAuthTries 6",
    "MaxSessions 1000",
)


def sshd_config(terms: ServerTerms) -> str:
    """Render the sshd_config: keys only, one user, nothing forwarded, the container's environment."""
    startups = terms.startups
    lines = [
        f"Port {terms.port}",
        *([f"ListenAddress {terms.address}"] if terms.address else []),
        *(f"HostKey {_quoted(path)}" for path in terms.host_keys),
        f"AuthorizedKeysFile {_quoted(terms.authorized_keys)}",
        f"AllowUsers {_allowed(terms.user, terms.sources)}",
        *_FIXED,
        f"PermitTTY {_yes(terms.pty)}",
        f"UsePAM {_yes(terms.use_pam)}",
        f"StrictModes {_yes(terms.strict_modes)}",
        f"MaxStartups {startups.begin}:30:{startups.full}",
        *algorithms.server_lines(terms.openssh),
        *_newer(terms),
        f"LogLevel {terms.log_level}",
        f"Subsystem {SUBSYSTEM} {' '.join(terms.bridge)}",
        *_set_env(terms.environment),
    ]
    return "\n".join(lines) + "\n"


def _newer(terms: ServerTerms) -> list[str]:
    """Render the words that an older sshd would end at, each from the version that has it."""
    words = (
        ((8, 5), f"PerSourceMaxStartups {terms.startups.per_source}"),
        # All hosts of a job may come from one address, and half of them before they have a key.
        ((9, 8), "PerSourcePenalties no"),
    )
    return [word for since, word in words if terms.openssh >= since]


def _allowed(user: str, sources: Sequence[str]) -> str:
    """Name the one user, at each source; sshd's log then names every other with its address."""
    return " ".join(f"{user}@{source}" for source in sources) or user


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# What ssh is told for every job; the words between them differ.
_OWN_KEY = (
    "IdentitiesOnly yes",
    "IdentityAgent none",
    "BatchMode yes",
    "PreferredAuthentications publickey",
    "StrictHostKeyChecking yes",
)
_KNOWN = (
    "GlobalKnownHostsFile none",
    "UpdateHostKeys no",
    "CheckHostIP no",
    "ConnectTimeout 20",
    "ServerAliveInterval 5",
    "ServerAliveCountMax 3",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "HostbasedAuthentication no",
)
_BARE = (
    "Compression no",
    "ForwardX11 no",
    "ForwardAgent no",
    "ClearAllForwardings yes",
    "Tunnel no",
    "PermitLocalCommand no",
    "ControlMaster no",
    "ControlPath none",
    "LogLevel ERROR",
)


def _indented(words: Iterable[str]) -> list[str]:
    return [f"  {word}" for word in words]


def ssh_config(
    places: Sequence[Place],
    *,
    user: str,
    port: int,
    identity: str,
    known_hosts: str,
    masters: Mapping[str, str] | None = None,
) -> str:
    """Render the ssh_config that mpirun's ssh reads in place of all others.

    Each place is pinned to the address that was proven to work, so ssh asks no DNS.

    Args:
        places: the workers.
        user: default login name.
        port: default port.
        identity: path of the private key.
        known_hosts: path of that file.
        masters: host → socket of a connection that is open; where nobody listens there any more, or
            a session is refused, ssh makes its own.
    """
    masters = masters or {}
    lines = [
        line
        for place in places
        if place.address
        for line in _pinned(place, masters.get(place.name, ""))
    ]
    lines += [
        "Host *",
        f"  User {user}",
        f"  Port {port}",
        f"  IdentityFile {_quoted(identity)}",
        *_indented(_OWN_KEY),
        f"  UserKnownHostsFile {_quoted(known_hosts)}",
        *_indented(_KNOWN),
        *_indented(algorithms.client_lines()),
        *_indented(_BARE),
    ]
    return "\n".join(lines) + "\n"


def _pinned(place: Place, master: str) -> list[str]:
    """Render what ssh is told of one place; the first value that it finds counts."""
    lines = [f"Host {place.node}", f"  HostName {place.address}", f"  Port {place.port}"]
    lines.append(f"  HostKeyAlias {place.node}")
    if place.user:
        lines.append(f"  User {place.user}")
    if master:
        lines.append(f"  ControlPath {_quoted(master.replace('%', '%%'))}")
    return lines


def known_hosts(keys: Sequence[str], places: Sequence[Place] = (), given: str = "") -> str:
    """Render known_hosts: the job's host keys for any name, then those given for single places.

    What the user's file says of a place is looked up here, by the name that the user gave it, and
    written down under the name that ssh_config gives it: so ssh believes what the launcher did.

    Args:
        keys: `type base64` of each key that a worker of this job may show.
        places: the workers.
        given: text of a known_hosts file for plain-sshd workers.
    """
    lines = [f"* {key}" for key in keys]
    theirs = KnownHosts(given)
    for place in places if given else ():
        lines += [f"{place.node} {key}" for key in theirs.vouched(place.name, place.port)]
    return "".join(f"{line}\n" for line in lines)


def _set_env(environment: Mapping[str, str]) -> list[str]:
    """Render one SetEnv line; sshd ignores a second one.

    A bash that ssh starts reads ~/.bashrc unless it is a shell within a shell. There it would print
    into the job's output, cost its time at each login, or end the session before MPI's daemon runs.
    """
    whole = {**environment, "SHLVL": "1"}
    words = (_quoted(f"{name}={value}") for name, value in sorted(whole.items()))
    return ["SetEnv " + " ".join(words)]


def _quoted(text: str) -> str:
    """Quote one word as OpenSSH's own splitter reads it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
