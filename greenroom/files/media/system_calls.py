"""A seccomp filter: system calls that decoding a file never needs fail with EPERM."""

import ctypes
import errno
import platform
import struct

# Sockets, other processes, and parts of the kernel with a history of holes. `tgkill` stays, because
# `abort` uses it, and `execve` stays for FFmpeg.
_REFUSED = {
    "x86_64": {
        "socket": 41,
        "connect": 42,
        "kill": 62,
        "ptrace": 101,
        "rt_sigqueueinfo": 129,
        "mount": 165,
        "tkill": 200,
        "keyctl": 250,
        "unshare": 272,
        "rt_tgsigqueueinfo": 297,
        "perf_event_open": 298,
        "setns": 308,
        "process_vm_readv": 310,
        "process_vm_writev": 311,
        "bpf": 321,
        "userfaultfd": 323,
        "pidfd_send_signal": 424,
        "io_uring_setup": 425,
        "pidfd_getfd": 438,
    },
    "aarch64": {
        "mount": 40,
        "unshare": 97,
        "ptrace": 117,
        "kill": 129,
        "tkill": 130,
        "rt_sigqueueinfo": 138,
        "socket": 198,
        "connect": 203,
        "keyctl": 219,
        "rt_tgsigqueueinfo": 240,
        "perf_event_open": 241,
        "setns": 268,
        "process_vm_readv": 270,
        "process_vm_writev": 271,
        "bpf": 280,
        "userfaultfd": 282,
        "pidfd_send_signal": 424,
        "io_uring_setup": 425,
        "pidfd_getfd": 438,
    },
}
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Numbers from here on are another way to make the same calls on x86-64.
_X32_FIRST = 0x40000000

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD = 0x20
_JUMP_EQUAL = 0x15
_JUMP_AT_LEAST = 0x35
_RETURN = 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_KILL = 0x80000000
# Offsets in `struct seccomp_data`.
_NUMBER, _ARCHITECTURE = 0, 4


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_system_calls(libc: ctypes.CDLL) -> bool:
    """Holds for the rest of this process. False: not on this machine. Needs `no_new_privs`."""
    machine = platform.machine()
    if machine not in _REFUSED:
        return False
    instructions = _filter(machine)
    program = _Program(len(instructions) // 8, instructions)
    done = libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)
    return bool(done == 0)


def _filter(machine: str) -> bytes:
    refused = sorted(_REFUSED[machine].values())
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_AT_LEAST, len(refused) + 1, 0, _X32_FIRST),
    ]
    # Each jumps over those after it and over "allow".
    for position, number in enumerate(refused):
        lines.append((_JUMP_EQUAL, len(refused) - position, 0, number))
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
