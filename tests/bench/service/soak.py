#!/usr/bin/env python3
"""Lets clients do with a server all that they can for a long time, and fails if what it takes does not stay as it is.

    soak.py --seconds N [--clients N] [--seed N] [--csv FILE] [--keep-jobs] [--leak-kib N]

service_mix does the work, and now and then the process of a job is killed. Memory, threads and descriptors of the
server, the bytes of its data folder and the rows of its database are looked at all the time. Each has a line: what it
was after the warm-up (a third of the time), its slope by Theil and Sen, and what it may grow by. The exit status is 1
if one grows more, if something went as it should not, or if the clients did too little. The last two options are seeded leaks, which have to be found:
jobs that are not deleted, and a server that leaks memory and descriptors.
"""

import argparse
import csv
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import onnx

sys.path.append(str(pathlib.Path(__file__).parents[2] / "e2e"))
import harness  # noqa: E402
import models  # noqa: E402
from process_figures import look  # noqa: E402
from slope import Growth  # noqa: E402

# What each quantity may grow by between the warm-up and the end: so much, or such a share of what it is. Growth that is
# too slow to be told from noise in a short run is found by a longer one, since the bound does not grow with the time.
BOUNDS = {
    "anon_mib": (8, 0.05),
    "file_mib": (4, 0.05),
    "threads": (6, 0),
    "descriptors": (10, 0),
    "rows": (60, 0),
    "database_kib": (512, 0.05),
    "disk_mib": (8, 0.10),
}
# Everything that is kept for a while is kept for a short one, so that short runs see it go.
FLAGS = ("--max-stored-bytes", str(24 << 20), "--spare-seconds", "4", "--tidy-seconds", "2", "--log-level", "warn",
         "--checkpoint-seconds", "1", "--workers", "2", "--max-uploads-per-client", "100")
SECONDS_BETWEEN_KILLS = 2
# Clients that do next to nothing find no leak. On a busy machine they do at least so much.
ACTIONS_PER_SECOND = 1


def bytes_below(folder):
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(path, name)).st_blocks * 512
            except OSError:
                pass  # It was removed meanwhile.
    return total


def rows(data):
    """The rows of all tables, without one for each stored file: files are there until room is short, and what they take
    is counted as disk."""
    database = data / "quotient.db"
    files = sum(len(names) for _, _, names in os.walk(data / "blobs"))
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60) as connection:
        tables = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return sum(connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables) - files


def sample(server):
    data = server.folder / "data"
    sizes = [file.stat().st_size for file in data.glob("quotient.db*")]
    return {**look(server.process.pid), "rows": rows(data), "database_kib": sum(sizes) / 1024,
            "disk_mib": bytes_below(data) / 2**20}


def kill_a_job(server, chance):
    processes = harness.descendants(server.process.pid, "quotient-job")
    if processes:
        try:
            os.kill(chance.choice(processes), signal.SIGKILL)
        except ProcessLookupError:
            pass  # It has ended by itself.


def watch(server, mix, options):
    """Samples (seconds, figures) until the mix has ended."""
    chance = random.Random(options.seed)
    begin = time.monotonic()
    samples, next_kill = [], SECONDS_BETWEEN_KILLS
    while mix.poll() is None:
        seconds = time.monotonic() - begin
        samples.append((seconds, sample(server)))
        if seconds >= next_kill:
            kill_a_job(server, chance)
            next_kill += SECONDS_BETWEEN_KILLS
        try:
            mix.wait(max(0.25, options.seconds / 2000))
        except subprocess.TimeoutExpired:
            pass
    return samples


def judge(samples):
    """Prints a line for each quantity. Returns the names of those that grow."""
    growing = []
    print(f"{'':14} {'level':>10} {'most':>10} {'grown':>10} {'allowed':>10} {'per hour':>10}")
    for name, (least, share) in BOUNDS.items():
        growth = Growth([(seconds, figures[name]) for seconds, figures in samples])
        is_within = growth.is_within(least, share)
        if not is_within:
            growing.append(name)
        print(f"{name:14} {growth.level:10.1f} {growth.most:10.1f} {growth.grown:10.2f}"
              f" {max(least, share * growth.level):10.1f} {growth.slope * 3600:10.1f}"
              f"{'' if is_within else '  GROWS'}")
    return growing


def write_csv(path, samples):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["seconds", *BOUNDS])
        table.writerows([round(seconds, 2), *(round(figures[name], 2) for name in BOUNDS)]
                        for seconds, figures in samples)


def soak(folder, options):
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    if options.leak_kib:
        env.update({"LD_PRELOAD": str(harness.BIN.parent / "tests/bench/service/libservice_leak.so"),
                    "QUOTIENT_LEAK_KIB": str(options.leak_kib)})
    server = harness.Server(folder, env, *FLAGS)
    try:
        onnx.save(models.conv_bn_relu(1), folder / "m.onnx")
        onnx.save(models.chain(), folder / "long.onnx")
        command = [harness.BIN / "service_mix", "--server", server.address, "--model", folder / "m.onnx",
                   "--long-model", folder / "long.onnx", "--seconds", str(options.seconds),
                   "--clients", str(options.clients), "--seed", str(options.seed),
                   *(["--keep-jobs"] if options.keep_jobs else [])]
        mix = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=harness.die_with_parent)
        samples = watch(server, mix, options)
        done = json.loads(mix.stdout.read() or "{}")
        is_alive = server.process.poll() is None
    finally:
        server.kill()
    print(f"seed {options.seed}, {len(samples)} samples in {samples[-1][0]:.0f} s; done:",
          ", ".join(f"{name} {count}" for name, count in done.items()))
    if options.csv:
        write_csv(options.csv, samples)
    growing = judge(samples)
    enough = sum(done.values()) >= ACTIONS_PER_SECOND * samples[-1][0]
    if not enough:
        print(f"the clients did less than {ACTIONS_PER_SECOND} thing in a second")
    if not is_alive:
        print("the server has ended:\n" + server.log.read_text()[-2000:])
    return not growing and enough and mix.returncode == 0 and is_alive


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--keep-jobs", action="store_true")
    parser.add_argument("--leak-kib", type=int, default=0, help="a second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if soak(pathlib.Path(folder), options) else 1


if __name__ == "__main__":
    sys.exit(main())
