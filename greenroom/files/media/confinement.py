"""Takes away from a process what it does not need to read one file."""

import ctypes
import os
import pwd
import resource
import signal
from collections.abc import Collection

from greenroom.files.media.file_access import allow_folder_only
from greenroom.files.media.job import MediaLimits
from greenroom.files.media.system_calls import refuse_system_calls

OPEN_FILES = 64
# Counted over all threads of the user, so it is set only for a user who has no others of note.
USER_PROCESSES = 512

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def leave_network() -> bool:
    """A network of its own, in which there is nothing. Only root may, and not everywhere."""
    return bool(_libc.unshare(_CLONE_NEWNET) == 0)


def die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(
    limits: MediaLimits, *, kept: Collection[int], programs: Collection[int], folder: int
) -> None:
    """For the rest of the life of this process, and of those that it starts. Everything is given
    as descriptors, because paths may be closed to the user that the process becomes."""
    os.setsid()
    die_with_parent()
    _close_descriptors({*kept, *programs, folder})
    os.fchdir(folder)
    os.umask(0o077)
    _set_limits(limits)
    if os.geteuid() == 0:
        _set_limit(resource.RLIMIT_NPROC, USER_PROCESSES, USER_PROCESSES)
        _drop_privileges()
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    allow_folder_only(_libc, folder, programs)
    os.close(folder)
    refuse_system_calls(_libc)


def _close_descriptors(kept: Collection[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    start = 3
    for descriptor in sorted(kept):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _set_limits(limits: MediaLimits) -> None:
    _set_limit(resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes)
    # A second more until it is killed, so that the signal says what the process ran out of.
    _set_limit(resource.RLIMIT_CPU, limits.cpu_s, limits.cpu_s + 1)
    _set_limit(resource.RLIMIT_FSIZE, limits.output_bytes, limits.output_bytes)
    _set_limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
    _set_limit(resource.RLIMIT_CORE, 0, 0)


def _set_limit(name: int, soft: int, hard: int) -> None:
    """Or what there is already, if that is less."""
    most = resource.getrlimit(name)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(name, (soft, hard))


def _drop_privileges() -> None:
    uid, gid = unprivileged_account()
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # A change of user clears it.
    die_with_parent()


def unprivileged_account() -> tuple[int, int]:
    """The user and group that a process of root becomes."""
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return 65534, 65534
    return nobody.pw_uid, nobody.pw_gid
