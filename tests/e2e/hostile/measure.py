"""Sends all hostile files to one server, and prints what they took: the slowest ones, and the
most memory of the server and of a job's process.

  QUOTIENT_BIN_DIR=$PWD/build/release/bin build/deps/tests/bin/python3 tests/e2e/hostile/measure.py
"""

import collections
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import harness  # noqa: E402

import all_cases  # noqa: E402
from arena import Arena  # noqa: E402

MOST_SHOWN = 10
LOOK_SECONDS = 0.005


def peak_mebibytes(pid):
    """The most memory that a process has had; 0 if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) >> 10 if lines else 0


Row = collections.namedtuple("Row", "table name kind seconds peak problem")


class JobWatch:
    """Looks at the processes of jobs that a server starts, often; those that are quick may not be seen."""

    def __init__(self, server):
        self.server, self.peak, self.done = server, 0, threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while not self.done.wait(LOOK_SECONDS):
            for pid in harness.descendants(self.server.process.pid, "quotient-job"):
                self.peak = max(self.peak, peak_mebibytes(pid))

    def take(self):
        peak, self.peak = self.peak, 0
        return peak

    def stop(self):
        self.done.set()
        self.thread.join()


class Bench(harness.TestCase):
    """Borrows the server and the client of tests."""

    def runTest(self):
        server = self.serve()
        arena, watch, rows = Arena(self.folder, self.quotient), JobWatch(server), []
        try:
            for table, cases in all_cases.TABLES.items():
                for case in cases:
                    outcome = arena.send(case)
                    answer = all_cases.ANSWERS[table, case.name]
                    rows.append(Row(table, case.name, answer.kind, outcome.seconds, watch.take(),
                                    outcome.problem(answer)))
        finally:
            watch.stop()
        report(rows, peak_mebibytes(server.process.pid))


def report(rows, server_peak):
    counts = collections.Counter(row.kind for row in rows)
    print(f"{len(rows)} files: " + ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))
    print(f"most memory: server {server_peak} MiB, process of a job {max(row.peak for row in rows)} MiB\n")
    for kind in sorted(counts):
        print(f"slowest of those that are {kind}:\n\n| seconds | MiB of the job's process | file |\n| --- | --- | --- |")
        chosen = sorted((row for row in rows if row.kind == kind), key=lambda row: -row.seconds)
        for row in chosen[:MOST_SHOWN]:
            print(f"| {row.seconds:.2f} | {row.peak or 'not seen'} | {row.table}: {row.name} |")
        print()
    for row in rows:
        if row.problem:
            print(f"{row.table}: {row.name}: {row.problem}")


if __name__ == "__main__":
    Bench().debug()
