"""sshd_config, ssh_config and known_hosts as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mpiboot.plan.knownhosts import vouched
from mpiboot.plan.layout import Place

# No stock default survives here by accident: fast and strong key exchange only, and the post-quantum
# one where this OpenSSH has the fast variant of it (9.9 on; sntrup761 costs 50 ms a login).
_KEX = "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384"
_KEX_PQ = "mlkem768x25519-sha256"
_CIPHERS = (
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,"
    "aes128-ctr,aes256-ctr"
)
SUBSYSTEM = "mpiboot"


@dataclass(frozen=True, kw_only=True)
class ServerTerms:
    """What an sshd_config depends on.

    Attributes:
        port: port to listen on.
        address: address to listen on; empty: all.
        user: the one user who may log in.
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
    address: str = ""


def sshd_config(terms: ServerTerms) -> str:
    """Render the sshd_config: keys only, one user, nothing forwarded, the container's environment."""
    penalties = ["PerSourcePenalties no"] if terms.openssh >= (9, 8) else []
    kex = f"{_KEX_PQ},{_KEX}" if terms.openssh >= (9, 9) else _KEX
    lines = [
        f"Port {terms.port}",
        *([f"ListenAddress {terms.address}"] if terms.address else []),
        *(f"HostKey {_quoted(path)}" for path in terms.host_keys),
        f"AuthorizedKeysFile {_quoted(terms.authorized_keys)}",
        f"AllowUsers {terms.user}",
        "AuthenticationMethods publickey",
        "PubkeyAuthentication yes",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "HostbasedAuthentication no",
        "GSSAPIAuthentication no",
        "PermitRootLogin prohibit-password",
        "PermitUserEnvironment no",
        "PermitUserRC no",
        "PermitTTY no",
        "DisableForwarding yes",
        f"UsePAM {'yes' if terms.use_pam else 'no'}",
        f"StrictModes {'yes' if terms.strict_modes else 'no'}",
        "UseDNS no",
        "PrintMotd no",
        "PrintLastLog no",
        "PidFile none",
        "TCPKeepAlive yes",
        "ClientAliveInterval 15",
        "ClientAliveCountMax 4",
        "LoginGraceTime 30",
        # A job's hosts all log in at once; the stock 10:30:100 drops a third of 50 logins.
        "MaxStartups 1000:30:2000",
        "MaxSessions 1000",
        f"KexAlgorithms {kex}",
        f"Ciphers {_CIPHERS}",
        *penalties,
        f"LogLevel {terms.log_level}",
        f"Subsystem {SUBSYSTEM} {' '.join(terms.bridge)}",
        *_set_env(terms.environment),
    ]
    return "\n".join(lines) + "\n"


def ssh_config(
    places: Sequence[Place], *, user: str, port: int, identity: str, known_hosts: str
) -> str:
    """Render the ssh_config that mpirun's ssh reads in place of all others.

    Each place is pinned to the address that was proven to work, so ssh asks no DNS.
    """
    lines = []
    for place in places:
        if place.address:
            lines += [f"Host {place.node}", f"  HostName {place.address}", f"  Port {place.port}"]
            lines.append(f"  HostKeyAlias {place.node}")
            if place.user:
                lines.append(f"  User {place.user}")
    lines += [
        "Host *",
        f"  User {user}",
        f"  Port {port}",
        f"  IdentityFile {_quoted(identity)}",
        "  IdentitiesOnly yes",
        "  IdentityAgent none",
        "  BatchMode yes",
        "  PreferredAuthentications publickey",
        "  StrictHostKeyChecking yes",
        f"  UserKnownHostsFile {_quoted(known_hosts)}",
        "  GlobalKnownHostsFile none",
        "  UpdateHostKeys no",
        "  CheckHostIP no",
        "  ConnectTimeout 20",
        "  ServerAliveInterval 5",
        "  ServerAliveCountMax 3",
        "  ForwardX11 no",
        "  ForwardAgent no",
        "  PermitLocalCommand no",
        "  ControlMaster no",
        "  ControlPath none",
        "  LogLevel ERROR",
    ]
    return "\n".join(lines) + "\n"


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
    for place in places:
        lines += [f"{place.node} {key}" for key in vouched(given, place.name, place.port)]
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
