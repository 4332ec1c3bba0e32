"""Clients at work with a server that is killed at random on a disk that fails, and what they find in the end.

    chaos.py --kills 1000 [--seed 1] [--clients 3] [--folder FOLDER] [--leave-clock]

Prints what was done, what became of the jobs, how long it took until interrupted jobs ran again (which is not known
if the clock was set), and every anomaly (history.py). The exit status is 1 if there is one, if a job has not ended, or
if one ran again later than within its lease and five seconds. The seed determines what is drawn, but not how threads
and processes race.
"""

import argparse
import collections
import errno
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).parents[1]))

import onnx

import harness
import history
import models
from machine import Machine
from stories import QUICK, SEARCHING, identity
from supervisor import Supervisor

# What a client does next, and how often.
ACTS = {"submit": 6, "search": 1, "watch": 2, "result": 3, "cancel": 1, "stop": 1, "delete": 1, "list": 1}
# What happens to the server, and how often.
BLOWS = {"kill server": 16, "kill job": 2, "pause server": 1, "end server": 1, "fill disk": 1, "break disk": 1,
         "write-protect disk": 1, "slow disk": 1, "set clock": 1}
ERRORS = {"fill disk": errno.ENOSPC, "break disk": errno.EIO, "write-protect disk": errno.EROFS}
MEAN_SECONDS_BETWEEN_BLOWS = 0.4
MODELS = 4
HOUR_MS = 3600 * 1000
# A client stops such a job or cancels it. If it cannot, it ends by itself before long.
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "30s")

# A lease, and five seconds.
RECOVERY_SECONDS = 35


class Chaos:
    def __init__(self, folder, seed, sets_clock=True):
        self.folder = pathlib.Path(folder)
        self.random = random.Random(seed)
        self.blows = {blow: weight for blow, weight in BLOWS.items() if sets_clock or blow != "set clock"}
        self.env = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        for i in range(MODELS):
            onnx.save(models.conv_bn_relu(i + 1), self.folder / f"m{i}.onnx")
        onnx.save(models.chain(), self.folder / "chain.onnx")
        self.machine = Machine(self.folder / "machine", self.folder / "data")
        self.env.update(self.machine.variables)
        self.server = harness.Server(self.folder, self.env, "--checkpoint-seconds", "1", "--workers", "2")
        self.env["QUOTIENT_SERVER"] = self.server.address
        self.supervisor = Supervisor(self.server)
        self.told = history.Told()
        self.lock = threading.Lock()  # Of what follows, and of `told`.
        self.counts = collections.Counter()
        self.ended = threading.Event()

    def run(self, kills, clients):
        threads = [threading.Thread(target=self.act, args=(i, random.Random(self.random.random())), daemon=True)
                   for i in range(clients)]
        for thread in threads:
            thread.start()
        while self.supervisor.deaths < kills:
            self.strike()
        self.ended.set()
        for thread in threads:
            thread.join()
        self.await_ends()
        status = self.supervisor.dismiss()
        if status != 0:
            raise RuntimeError(f"the server ended with {status}:\n{self.server.log.read_text()[-4000:]}")
        return history.read(self.folder / "data")

    # What happens to the server.

    def strike(self):
        time.sleep(self.random.expovariate(1 / MEAN_SECONDS_BETWEEN_BLOWS))
        blow = self.draw(self.random, self.blows)
        process = self.server.process
        if process.poll() is not None:
            return
        self.count(blow)
        if blow == "kill server":
            process.kill()
        elif blow == "end server":
            process.terminate()
        elif blow == "pause server":
            process.send_signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 1))
            process.send_signal(signal.SIGCONT)
        elif blow == "set clock":
            self.machine.set(clock_ms=self.random.randint(-HOUR_MS, HOUR_MS))
        elif blow == "slow disk":
            self.machine.set(sleep_us=self.random.randint(1000, 50_000))
            self.wait_and_heal()
        elif blow in ERRORS:
            self.machine.fail(ERRORS[blow], passes=self.random.randint(0, 20))
            self.wait_and_heal()
        else:
            for job in harness.descendants(process.pid, "quotient-job"):
                os.kill(job, signal.SIGKILL)

    def wait_and_heal(self):
        time.sleep(self.random.uniform(0, 2))
        self.machine.heal()

    # What clients do.

    def act(self, number, rng):
        while not self.ended.is_set():
            act = self.draw(rng, ACTS)
            if act in ("submit", "search"):
                self.submit(rng, act)
                continue
            with self.lock:
                jobs = sorted(self.told.accepted)
            if jobs:
                # Mostly one of the last, which may not have ended yet.
                self.ask(act, rng.choice(jobs[-8:] if rng.random() < 0.8 else jobs), number)

    def submit(self, rng, act):
        # Now and then the same one as before.
        options = (*QUICK, "--seed", str(rng.randrange(10**6 if rng.random() < 0.7 else 5)))
        model = f"m{rng.randrange(MODELS)}.onnx"
        if act == "search":
            options, model = (*rng.choice((SEARCHING, LONG)), "--seed", str(rng.randrange(10**6))), "chain.onnx"
        result = self.quotient("submit", model, *options)
        self.count(f"{act}: {result.returncode}")
        if result.returncode != 0:
            return
        job = result.stdout.strip()
        with self.lock:
            self.told.accepted.add(identity(job))
        if options[:len(LONG)] == LONG:
            self.quotient(rng.choice(("stop", "cancel")), job)

    def ask(self, act, job, number):
        name = f"jobs/{job}"
        if act == "delete":
            with self.lock:
                self.told.deleted.add(job)
        if act == "result":
            out = self.folder / f"out{number}.onnx"
            result = self.quotient("result", name, "-o", out)
            if result.returncode == 0:
                with self.lock:
                    digest = hashlib.sha256(out.read_bytes()).hexdigest()
                    self.told.results.setdefault(job, []).append(digest)
        elif act == "list":
            result = self.quotient("jobs")
        elif act == "watch":
            result = self.quotient("watch", name, "--json")
            seen = list(transitions(job, result.stdout))
            with self.lock:
                self.told.watched.append(seen)
        else:
            result = self.quotient(act, name)
        self.count(f"{act}: {result.returncode}")

    def quotient(self, *arguments):
        return subprocess.run([harness.BIN / "quotient", *map(str, arguments)], capture_output=True, text=True,
                              env=self.env, cwd=self.folder, timeout=harness.PATIENCE_SECONDS, check=False)

    def await_ends(self):
        """Until no job waits or runs."""
        deadline = time.monotonic() + 10 * harness.PATIENCE_SECONDS
        while True:
            waiting = [line for line in self.quotient("jobs", "--json").stdout.splitlines()
                       if any(f"JOB_STATE_{state}" in line for state in ("QUEUED", "RUNNING", "CANCELLING"))]
            if not waiting:
                return
            if time.monotonic() > deadline:
                raise RuntimeError("jobs do not end:\n" + "\n".join(waiting))
            time.sleep(0.5)

    def draw(self, rng, weights):
        return rng.choices(list(weights), list(weights.values()))[0]

    def count(self, what):
        with self.lock:
            self.counts[what] += 1


def transitions(job, lines):
    """What `quotient watch --json` printed."""
    for line in lines.splitlines():
        event = json.loads(line).get("transition")
        if event is not None:
            yield history.Transition(job, int(event["sequence"]), 0, event["from"].removeprefix("JOB_STATE_"),
                                     event["to"].removeprefix("JOB_STATE_"), event["reason"])


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def recoveries(chaos, past):
    """Seconds after which interrupted jobs ran again. The log has the times of a clock that jumps, which say nothing."""
    return [] if chaos.counts["set clock"] else history.recoveries(past)


def summary(chaos, past, anomalies, seconds):
    lines = [f"{seconds:.0f} s, {chaos.supervisor.deaths} ends of the server"]
    lines += [f"  {what}: {count}" for what, count in sorted(chaos.counts.items())]
    ends = collections.Counter((step.after, step.reason) for step in past.transitions if step.after in history.ENDS)
    lines.append("jobs: " + ", ".join(f"{count} {state} ({why})" for (state, why), count in sorted(ends.items())))
    took = recoveries(chaos, past)
    if took:
        lines.append(f"{len(took)} interrupted jobs ran again after {quantile(took, 0.5):.1f} s (median), "
                     f"{quantile(took, 0.99):.1f} s (99 %), {max(took):.1f} s at most; the bound is {RECOVERY_SECONDS} s")
    lines.append(f"{len(anomalies)} anomalies")
    lines += [f"  {text}" for text in anomalies]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=1000, help="so many ends of the server")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--folder", help="keeps everything there")
    parser.add_argument("--leave-clock", action="store_true", help="the clock is not set")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        begin = time.monotonic()
        chaos = Chaos(arguments.folder or temporary, arguments.seed, sets_clock=not arguments.leave_clock)
        past = chaos.run(arguments.kills, arguments.clients)
        found = history.anomalies(past, chaos.told)
        print(summary(chaos, past, found, time.monotonic() - begin))
    late = max(recoveries(chaos, past), default=0) > RECOVERY_SECONDS
    return 1 if found or late or history.unfinished(past) else 0


if __name__ == "__main__":
    sys.exit(main())
