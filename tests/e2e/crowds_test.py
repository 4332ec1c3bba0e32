"""Clients that take all that they can get from a server: it serves others beside them, and its memory is bounded."""

import pathlib
import re
import sys
import time
import unittest

import onnx

import harness
import models

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from raw_http2 import Connection  # noqa: E402

GET_JOB = "/quotient.v1.OptimizerService/GetJob"
WATCH_JOB = "/quotient.v1.OptimizerService/WatchJob"
DOWNLOAD = "/quotient.v1.BlobService/Download"
HEALTH_WATCH = "/grpc.health.v1.Health/Watch"


def memory_mib(server):
    """What the process has of its own."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def request_of(text):
    """A message whose first field is a short text."""
    return bytes([0x0A, len(text)]) + text.encode()


def refused_watches(server):
    found = re.search(r'handled_total\{grpc_code="Unavailable",grpc_method="WatchJob"[^}]*\} (\d+)', server.metrics())
    return int(found[1]) if found else 0


class CrowdsTest(harness.TestCase):
    def connect(self, server, **options):
        connection = Connection(server.address, **options)
        self.addCleanup(connection.close)
        return connection

    def watch(self, connection, job):
        """Returns when the server has answered."""
        stream = connection.open(WATCH_JOB)
        connection.send(stream, request_of(job))
        connection.read_until(lambda: stream in connection.answered)
        return stream

    def await_ends(self, connections, count):
        """Until the server has ended so many calls."""
        deadline = time.monotonic() + harness.PATIENCE_SECONDS
        while sum(len(connection.ended) for connection in connections) < count:
            self.assertLess(time.monotonic(), deadline, "calls stay")
            for connection in connections:
                connection.read(seconds=0.01)
                self.assertFalse(connection.is_closed)

    def test_calls_without_a_request_are_bounded(self):
        server = self.serve()
        before = memory_mib(server)
        connections = [self.connect(server, source=f"127.0.0.{i + 1}") for i in range(8)]
        calls = 0
        for path in (GET_JOB, WATCH_JOB, HEALTH_WATCH, DOWNLOAD) * 5:
            for connection in connections:
                connection.open_many(path, 100)
                calls += 100
                self.await_ends(connections, calls - 128)
        # Without a bound all 16,000 calls stay, and take more than 180 MiB.
        self.assertLess(memory_mib(server) - before, 120)
        self.assert_code(self.quotient("jobs"), 0)

    def test_who_has_most_watches_gives_way_and_the_client_tries_again(self):
        onnx.save(models.chain(), self.folder / "long.onnx")
        server = self.serve("--max-watches", "4", "--metrics-listen", "127.0.0.1:0")
        submitted = self.quotient("submit", "long.onnx", "--device", "model:h200", "--max-nodes", "100",
                                  "--budget", "1h")
        self.assert_code(submitted, 0)
        job = submitted.out.strip()
        with self.running("watch", job, "--json") as watcher:
            harness.read_until(watcher.stdout, "snapshot")
            own = self.connect(server)
            streams = [self.watch(own, job) for _ in range(2)]
            others = [self.connect(server, source=f"127.0.0.{i}") for i in (2, 3)]
            taken = [self.watch(other, job) for other in others]
            # The second of the others got that of the command, the oldest of who had three. The command is refused now, and
            # takes from nobody.
            begin = time.monotonic()
            while refused_watches(server) < 6:
                self.assertLess(time.monotonic(), begin + harness.PATIENCE_SECONDS)
                time.sleep(0.1)
            # The pauses between its attempts grow to 2 s.
            self.assertGreater(time.monotonic() - begin, 2)
            for connection in (own, *others):
                connection.read()
                self.assertFalse(connection.ended)
            for stream in streams:
                own.reset(stream)
            for other, stream in zip(others, taken, strict=True):
                other.reset(stream)
            harness.read_until(watcher.stdout, "snapshot")
            self.assert_code(self.quotient("cancel", job), 0)
            harness.read_until(watcher.stdout, "CANCELLED")
            watcher.wait(harness.PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
