#!/usr/bin/env python3
"""How long a server takes to answer, alone and beside crowds of other clients, and what it takes to serve them.

    service_bench.py [--only SCENARIO,...] [--rounds N] [--watchers N] [--slow N] [--uploads N] [--runs N]

Each scenario has a server of its own, with one worker. service_probe makes calls, one after the other, while
service_crowd keeps others open. A line per run: p50 and p99 of each kind of call in milliseconds, and what the server
took at most meanwhile; "before" is its memory before the crowd came. README.md has the columns.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import onnx

sys.path.append(str(pathlib.Path(__file__).parents[2] / "e2e"))
import harness  # noqa: E402
import models  # noqa: E402
from process_figures import Peak, look  # noqa: E402

KINDS = ("submit", "first event", "get", "lookup", "cache hit")
# For calls of one machine that stands for many: nobody is turned away but where a scenario says so.
ROOM = ("--max-queued-jobs", "100000", "--max-queued-jobs-per-client", "100000", "--max-watches", "20000",
        "--max-watches-per-client", "20000", "--max-uploads", "2000", "--max-uploads-per-client", "2000")
# The search of such a job takes all of its budget.
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "1h", "--threads", "1")


class Scenario:
    def __init__(self, crowd=(), flags=(), worker_is_held=True, share_of_rounds=1):
        self.crowd, self.flags, self.worker_is_held = crowd, flags, worker_is_held
        self.share_of_rounds = share_of_rounds  # Fewer where rounds take long, and the crowd ends by itself.


def scenarios(options):
    def watch(connections):
        return Scenario(("watch", "--count", options.watchers, "--connections", connections))

    def slow(kind, count):
        return Scenario((kind, "--count", count, "--connections", count))

    def upload(pause_ms, share_of_rounds, *flags):
        return Scenario(("upload", "--count", options.uploads, "--connections", options.uploads,
                         "--bytes", options.upload_bytes, "--blobs", options.upload_blobs,
                         "--pause-ms", pause_ms), flags, share_of_rounds=share_of_rounds)
    all_at_once = ("--max-transfers", str(options.uploads), "--max-transfers-per-client", str(options.uploads))
    return {
        "alone": Scenario(),
        "jobs": Scenario(worker_is_held=False),
        "watchers": watch(100),
        "watchers apart": watch(options.watchers),
        "slow watchers": slow("slow-watch", options.slow),
        "slow answers": slow("slow-get", options.slow),
        "slow downloads": slow("slow-download", 32),
        "uploads": upload(2000, 1),
        "uploads at once": upload(2000, 1, *all_at_once),
        "uploads in haste": upload(0, 0.1, *all_at_once),
    }


class Crowd:
    """service_crowd, which holds calls open. For a `with` statement. It stands for other machines, so server and probe
    have the cores as far as they want them."""

    def __init__(self, server, model, words):
        self.process = subprocess.Popen(
            ["nice", "-n", "19", harness.BIN / "service_crowd", *map(str, words), "--server", server.address, "--model", model],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=harness.die_with_parent)
        self.at_first = json.loads(self.process.stdout.readline() or "{}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        rest, _ = self.process.communicate("")
        self.in_the_end = json.loads(rest or "{}")


class Bench:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        self.model, self.long = folder / "m.onnx", folder / "long.onnx"
        onnx.save(models.conv_bn_relu(1), self.model)
        onnx.save(models.chain(), self.long)

    def probe(self, server, rounds):
        command = [harness.BIN / "service_probe", "--server", server.address, "--model", self.model,
                   "--rounds", str(rounds)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(ran.stdout or "{}")

    def hold_worker(self, server):
        """Submits a job without end and stops its process, so that the worker waits and takes no processor time."""
        env = {**self.env, "QUOTIENT_SERVER": server.address}
        job = subprocess.run([harness.BIN / "quotient", "submit", self.long, *LONG], env=env, stdout=subprocess.PIPE,
                             text=True, check=True).stdout.strip()
        watcher = subprocess.Popen([harness.BIN / "quotient", "watch", job, "--json"], env=env,
                                   stdout=subprocess.PIPE, text=True)
        harness.read_until(watcher.stdout, "enodes")
        (process,) = harness.descendants(server.process.pid, "quotient-job")
        os.kill(process, signal.SIGSTOP)
        watcher.kill()
        watcher.communicate()

    def run(self, scenario):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            server = harness.Server(folder, self.env, *ROOM, *scenario.flags)
            try:
                return self.measure(server, scenario)
            finally:
                server.kill()

    def measure(self, server, scenario):
        pid = server.process.pid
        self.probe(server, 0)
        if scenario.worker_is_held:
            self.hold_worker(server)
        before = look(pid)
        with contextlib.ExitStack() as stack:
            peak = stack.enter_context(Peak(lambda: [pid]))
            crowd = None
            if scenario.crowd:
                crowd = stack.enter_context(Crowd(server, self.model, scenario.crowd))
            times = self.probe(server, max(10, int(self.options.rounds * scenario.share_of_rounds)))
        return {"before": before, "most": peak.most, "times": times,
                "crowd": crowd.at_first if crowd else {}, "crowd_end": crowd.in_the_end if crowd else {}}


def table_line(name, result):
    def milliseconds(kind):
        return f"{result['times'][kind]['p50_ms']:7.1f} {result['times'][kind]['p99_ms']:7.1f}"
    most = result["most"]
    return (f"{name:16}" + "".join(f" {milliseconds(kind)} " for kind in KINDS) +
            f" {result['crowd'].get('open', 0):6} {result['before']['anon_mib']:7.0f} {most['anon_mib']:7.0f}"
            f" {most['file_mib']:6.0f} {most['threads']:7} {most['descriptors']:6}")


def heading():
    return (f"{'scenario':16}" + "".join(f" {kind:>15} " for kind in KINDS) +
            f" {'calls':>6} {'before':>7} {'MiB':>7} {'mapped':>6} {'threads':>7} {'files':>6}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="scenarios, separated by commas; all if not said")
    parser.add_argument("--rounds", type=int, default=1000, help="calls of each kind (%(default)s)")
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=1000, help="calls that read nothing (%(default)s)")
    parser.add_argument("--uploads", type=int, default=256, help="at once (%(default)s)")
    parser.add_argument("--upload-bytes", type=int, default=4 << 20, help="of each blob (%(default)s)")
    parser.add_argument("--upload-blobs", type=int, default=4, help="that each of them sends (%(default)s)")
    parser.add_argument("--runs", type=int, default=1, help="of each scenario (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path, help="a file to which each run adds a line")
    options = parser.parse_args()
    known = scenarios(options)
    chosen = options.only.split(",") if options.only else list(known)
    for name in chosen:
        if name not in known:
            parser.error(f"no scenario '{name}'; there are {', '.join(known)}")
    print(heading())
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(folder), options)
        for _ in range(options.runs):
            for name in chosen:
                result = bench.run(known[name])
                print(table_line(name, result), flush=True)
                if options.json:
                    with open(options.json, "a") as file:
                        file.write(json.dumps({"scenario": name, **result}) + "\n")


if __name__ == "__main__":
    main()
