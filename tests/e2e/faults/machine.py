"""A machine whose disk fails and whose clock jumps: what programs think that are started with `Machine.variables`."""

import errno
import mmap
import os
import pathlib
import struct

import harness

# As in faulty_machine.cc.
FIELDS = ("error", "passes", "failures", "sleep_us", "is_short", "clock_ms", "is_full", "room", "operations",
          "failed")


class Machine:
    """Of one folder. What is changed here holds at once for all programs that run."""

    def __init__(self, control, folder):
        self.control = pathlib.Path(control)
        self.control.write_bytes(bytes(8 * len(FIELDS)))
        with open(self.control, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.variables = {
            "LD_PRELOAD": str(harness.BIN / "libquotient_faulty_machine.so"),
            "QUOTIENT_FAULTY_CONTROL": str(self.control),
            "QUOTIENT_FAULTY_FOLDER": str(folder),
            # The preset `asan` links its runtime, which minds not to be the first library.
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
        }

    def get(self, field):
        return struct.unpack_from("q", self.memory, 8 * FIELDS.index(field))[0]

    def set(self, **fields):
        for field, value in fields.items():
            struct.pack_into("q", self.memory, 8 * FIELDS.index(field), value)

    def fail(self, error=errno.EIO, passes=0, failures=-1):
        """Operations fail after so many have passed; so many of them, or all from then on."""
        self.set(error=0)
        self.set(passes=passes, failures=failures)
        self.set(error=error)

    def heal(self):
        self.set(error=0, sleep_us=0, is_short=0, is_full=0)
