"""Measures what the hostile files take, and prints the tables of RESULTS.md. Each file is given to the client twice: to
work on it in its own process (`--local`), of which the system tells what it took, and to send it to a server, of which
another client asks for its jobs meanwhile, again and again.

  QUOTIENT_BIN_DIR=$PWD/build/release/bin build/deps/tests/bin/python3 tests/e2e/hostile/measure.py
"""

import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import harness  # noqa: E402

import all_cases  # noqa: E402
from arena import Arena  # noqa: E402

MOST_SHOWN = 10
LOOK_SECONDS = 0.005
PAUSE_SECONDS = 0.1
IDLE_CALLS = 50
TICKS = os.sysconf("SC_CLK_TCK")

Row = collections.namedtuple("Row", "table name kind seconds cpu mebibytes problem")


class MeteredClient:
    """Runs the client as harness.TestCase does, and keeps what the last run took."""

    def __init__(self, case):
        self.case, self.seconds, self.cpu, self.mebibytes = case, 0, 0, 0

    def __call__(self, *arguments):
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            begin = time.monotonic()
            process = subprocess.Popen([harness.BIN / "quotient", *map(str, arguments)], stdout=out, stderr=err,
                                       env=self.case.env, cwd=self.case.folder)
            _, status, usage = os.wait4(process.pid, 0)
            self.seconds = time.monotonic() - begin
            self.cpu, self.mebibytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read())
        return harness.Result(subprocess.CompletedProcess(process.args, process.returncode, *texts))


class OtherClient:
    """Asks the server for its jobs, pauses, and so on."""

    def __init__(self, case):
        self.client, self.latencies, self.failures, self.done = MeteredClient(case), [], 0, threading.Event()
        self.thread = threading.Thread(target=self.go_on)

    def ask(self):
        self.failures += self.client("jobs").code != 0
        self.latencies.append(self.client.seconds)

    def go_on(self):
        while not self.done.wait(PAUSE_SECONDS):
            self.ask()

    def told(self):
        return (f"{len(self.latencies)} calls, {self.failures} without an answer, median "
                f"{statistics.median(self.latencies):.3f} s, slowest {max(self.latencies):.3f} s")


class JobWatch:
    """Looks at the processes of jobs that a server starts, often; those that are quick may not be seen."""

    def __init__(self, pid):
        self.pid, self.most, self.done = pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.go_on)

    def go_on(self):
        while not self.done.wait(LOOK_SECONDS):
            for pid in harness.descendants(self.pid, "quotient-job"):
                self.most = max(self.most, peak_mebibytes(pid))

    def take(self):
        most, self.most = self.most, 0
        return most


def peak_mebibytes(pid):
    """The most memory that a process has had; 0 if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) >> 10 if lines else 0


def cpu_seconds(pid):
    """Of a process and those of its children that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICKS


class Bench(harness.TestCase):
    """Borrows the server and the client of tests."""

    def send_all(self, arena, measure, *mode):
        """`measure` returns the CPU time since the last call, and the most memory since."""
        rows = []
        for table, cases in all_cases.TABLES.items():
            for case in cases:
                measure()
                outcome = arena.send(case, *mode)
                answer = all_cases.ANSWERS[table, case.name]
                rows.append(Row(table, case.name, answer.kind, arena.quotient.seconds, *measure(),
                                outcome.problem(answer)))
        return rows

    def measure_here(self, arena):
        client = arena.quotient
        return self.send_all(arena, lambda: (client.cpu, client.mebibytes), "--local")

    def measure_server(self, arena):
        server = self.serve()
        pid, client, idle, other = server.process.pid, arena.quotient, OtherClient(self), OtherClient(self)
        for _ in range(IDLE_CALLS):
            idle.ask()
        watch, last = JobWatch(pid), [0.0]

        def measure():
            before, last[0] = last[0], cpu_seconds(pid)
            return last[0] - before + client.cpu, watch.take()

        for looker in (other, watch):
            looker.thread.start()
        try:
            rows = self.send_all(arena, measure)
        finally:
            for looker in (other, watch):
                looker.done.set()
                looker.thread.join()
        print(f"Another client: {other.told()}; of the idle server: {idle.told()}.")
        print(f"Memory of the server: {peak_mebibytes(pid)} MiB at most.\n")
        return rows

    def runTest(self):
        arena = Arena(self.folder, MeteredClient(self))
        counts = collections.Counter(answer.kind for answer in all_cases.ANSWERS.values())
        print(f"{sum(counts.values())} files: " + ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)))
        print(", ".join(f"{name} {len(cases)}" for name, cases in all_cases.TABLES.items()) + "\n")
        report("in the client's process", self.measure_here(arena))
        report("on a server", self.measure_server(arena))


def report(where, rows):
    print(f"| {where} | files | median s | slowest s | longer than 1 s | median CPU s | most CPU s | most MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind in sorted({row.kind for row in rows}):
        some = [row for row in rows if row.kind == kind]
        seconds, cpu = [row.seconds for row in some], [row.cpu for row in some]
        print(f"| {kind} | {len(some)} | {statistics.median(seconds):.2f} | {max(seconds):.2f} | "
              f"{sum(each > 1 for each in seconds)} | {statistics.median(cpu):.2f} | {max(cpu):.2f} | "
              f"{max(row.mebibytes for row in some)} |")
    print("\n| CPU s | seconds | MiB | file | answer |\n| --- | --- | --- | --- | --- |")
    for row in sorted(rows, key=lambda row: -row.cpu)[:MOST_SHOWN]:
        print(f"| {row.cpu:.2f} | {row.seconds:.2f} | {row.mebibytes or 'not seen'} | {row.table}: {row.name} | {row.kind} |")
    print()
    for row in rows:
        if row.problem:
            print(f"{row.table}: {row.name}: {row.problem}")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    Bench().debug()
