"""Landlock: a process that can open nothing but what lies in one folder."""

import ctypes
import os
import struct
from collections.abc import Collection

# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_EXECUTE, _READ_FILE = 1 << 0, 1 << 2
# What the first version of Landlock can forbid: execute, read, write, list, remove, make.
_EVERYTHING = (1 << 13) - 1


def allow_folder_only(libc: ctypes.CDLL, folder: int, programs: Collection[int]) -> bool:
    """Holds for the rest of this process and for those that it starts. `programs` may be executed
    too. Descriptors that are open stay usable. False: this kernel cannot. Needs `no_new_privs`."""
    ruleset = libc.syscall(_CREATE_RULESET, struct.pack("=Q", _EVERYTHING), ctypes.c_size_t(8), 0)
    if ruleset < 0:
        return False
    try:
        rules = [(_EVERYTHING, folder), *((_EXECUTE | _READ_FILE, each) for each in programs)]
        for access, parent in rules:
            rule = struct.pack("=Qi", access, parent)
            if libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0) != 0:
                return False
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)
