"""Ask the kernel whether the other end of a TCP connection still acknowledges what we send."""

from __future__ import annotations

import socket
import struct

# struct tcp_info of linux/tcp.h: bytes, of which `retransmits` is the third, then numbers of 32 bits.
_RETRANSMITS = 2
_UNACKED = struct.Struct("=I")
_UNACKED_AT = 24
_SIZE = 104


def unanswered(sock: object) -> bool:
    """Tell whether the kernel sends something again because no acknowledgement came.

    A container that is frozen has a kernel that still acknowledges; one that is cut off has not.
    """
    if not isinstance(sock, socket.socket):
        return False
    try:
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return True
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE)
    except OSError:
        return False
    if len(info) < _UNACKED_AT + _UNACKED.size:
        return False
    unacked = _UNACKED.unpack_from(info, _UNACKED_AT)[0]
    return bool(info[_RETRANSMITS]) and unacked > 0
