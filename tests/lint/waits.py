#!/usr/bin/env python3
"""Checks that nothing waits by the machine's clock, which people and NTP set, through absl.

  waits.py [ROOT]      ROOT defaults to this repository

In the sources of the product, waits of absl with a timeout or a deadline are refused: they end at a
time of that clock, and take an hour longer if it is set back by an hour. MonotonicMutex and
StopSignal (core/base) wait by the monotonic clock. absl::Now() is refused but where it makes a
deadline for gRPC, which turns it into monotonic time at once. Prints each such line; the exit status
is then 1.
"""

import pathlib
import re
import sys

FOLDERS = ("client", "core", "proto", "server")
TIMED_WAIT = re.compile(r"\b(?:Await|LockWhen|ReaderLockWhen|WriterLockWhen|Wait|WaitForNotification)"
                        r"With(?:Timeout|Deadline)\b")
NOW = re.compile(r"\babsl::Now\(\)")
OF_GRPC = re.compile(r"\bToChronoTime\(absl::Now\(\)")


def mistakes_in(text):
    """Yields the number of each line that waits by the machine's clock, and what to do about it."""
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.split("//")[0]
        if TIMED_WAIT.search(code):
            yield number, "waits by the machine's clock: use MonotonicMutex or StopSignal"
        elif NOW.search(code) and not OF_GRPC.search(code):
            yield number, "reads the machine's clock: use Clock (core/base/clock.h)"


def mistakes(root):
    """Yields a line of text for each mistake below `root`."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            for number, advice in mistakes_in(path.read_text()):
                yield f"{path.relative_to(root)}:{number}: {advice}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
    found = list(mistakes(root.resolve()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
