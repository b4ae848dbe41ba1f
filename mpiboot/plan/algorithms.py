"""Which algorithms of SSH are spoken, by version of OpenSSH and by paramiko: strong ones that are fast."""

from __future__ import annotations

from collections.abc import Iterable

Version = tuple[int, int]

# The post-quantum one that costs nothing (9.9 on); sntrup761 costs 50 ms a login.
_KEX_PQ = "mlkem768x25519-sha256"
_KEX = (
    "curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256", "ecdh-sha2-nistp384",
)  # fmt: skip
# No chacha20-poly1305 and no CBC: with those the Terrapin attack works where one side is not mended,
# and every machine that computes has AES in hardware.
CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr")
# For the two ctr ones only; those that are computed over the cipher text.
MACS = (
    "umac-128-etm@openssh.com", "hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com",
)  # fmt: skip
# Of host keys and of users' keys: nothing with SHA-1, no DSA, no certificates.
SIGNATURES = (
    "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    "rsa-sha2-512", "rsa-sha2-256",
)  # fmt: skip
LEAST_RSA_BITS = 2048
# A client does not know its own version: what it takes away it need not know by name.
_CLIENT_KEX = "-*-sha1"
_OLDEST_WITH_RSA_SIZE = (9, 1)
_OLDEST_WITH_NEW_NAME = (8, 5)


def server_lines(openssh: Version) -> list[str]:
    """Render the algorithms of an sshd of that version."""
    kex = ((_KEX_PQ,) if openssh >= (9, 9) else ()) + _KEX
    newer = openssh >= _OLDEST_WITH_NEW_NAME
    accepted = "PubkeyAcceptedAlgorithms" if newer else "PubkeyAcceptedKeyTypes"
    sized = openssh >= _OLDEST_WITH_RSA_SIZE
    return [
        f"KexAlgorithms {','.join(kex)}",
        f"Ciphers {','.join(CIPHERS)}",
        f"MACs {','.join(MACS)}",
        f"HostKeyAlgorithms {','.join(SIGNATURES)}",
        f"{accepted} {','.join(SIGNATURES)}",
        *([f"RequiredRSASize {LEAST_RSA_BITS}"] if sized else []),
    ]


def client_lines() -> list[str]:
    """Render the algorithms of an ssh of any version.

    Plain sshds are spoken to as well, so key exchange is only rid of what is weak. The types of host
    keys are not named: an ssh before 8.5 would then no longer prefer those that known_hosts has.
    """
    return [
        "IgnoreUnknown RequiredRSASize,PubkeyAcceptedAlgorithms",
        f"KexAlgorithms {_CLIENT_KEX}",
        f"Ciphers {','.join(CIPHERS)}",
        f"MACs {','.join(MACS)}",
        f"PubkeyAcceptedAlgorithms {','.join(SIGNATURES)}",
        f"RequiredRSASize {LEAST_RSA_BITS}",
    ]


def strong(offered: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    """Return what is allowed of what a library offers, in our order."""
    known = set(offered)
    return tuple(name for name in allowed if name in known)


def library_kex(offered: Iterable[str]) -> tuple[str, ...]:
    """Return a library's key exchanges without those of SHA-1 and of groups that the server chooses."""
    return tuple(name for name in offered if not name.endswith("-sha1") and "exchange" not in name)
