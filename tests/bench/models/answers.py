"""What optimizers make of a model: Quotient for one device, and the simplifiers that people use beside it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import onnx

POLL_SECONDS = 0.2


def tree_of(pid):
    """The process and its descendants."""
    found, queue = [], [pid]
    while queue:
        each = queue.pop()
        found.append(each)
        try:
            for task in pathlib.Path(f"/proc/{each}/task").iterdir():
                queue += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def memory_of(pids):
    """Bytes of memory that the processes have, together. Libraries that several of them map count for each."""
    kib = 0
    for pid in pids:
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:  # It has ended.
            continue
        kib += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    return kib * 1024


# Runs a command and writes its wait status and the kernel's record of its largest process, in KiB,
# to a descriptor. A process of its own does that, because the record of a new process begins with
# the size of the one that started it, and this one has had whole models in memory.
LAUNCHER = """
import os, sys
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
os.write(int(sys.argv[1]), f"{status} {usage.ru_maxrss}".encode())
"""


def run_watched(command):
    """Returns (exit status, standard error, seconds, bytes): the last is the most memory of all processes at a time.

    Memory is looked at every POLL_SECONDS, so that what is there for a shorter time may be missed: looking more often
    would disturb what the processes time. The kernel's own record of the largest process is a bound from below. Files
    that are mapped count as far as they are in memory.
    """
    start = time.monotonic()
    peak = 0
    record, written = os.pipe()
    with tempfile.TemporaryFile("w+") as errors, os.fdopen(record) as record:
        launcher = subprocess.Popen([sys.executable, "-I", "-S", "-c", LAUNCHER, str(written), *command],
                                    stdout=subprocess.DEVNULL, stderr=errors, pass_fds=[written])
        os.close(written)
        while launcher.poll() is None:
            peak = max(peak, memory_of(tree_of(launcher.pid)[1:]))
            time.sleep(POLL_SECONDS)
        seconds = time.monotonic() - start
        errors.seek(0)
        message, words = errors.read(), record.read().split()
    if not words:
        return launcher.returncode, message, seconds, 0
    status, largest_kib = map(int, words)
    return os.waitstatus_to_exitcode(status), message, seconds, max(peak, largest_kib * 1024)


def measure_shapes(path, inputs):
    """Options that give each input with symbolic dims the shape that it has in `inputs`."""
    options = []
    for value in onnx.load(path, load_external_data=False).graph.input:
        dims = value.type.tensor_type.shape.dim
        if inputs and any(not dim.HasField("dim_value") for dim in dims):
            shape = ",".join(str(size) for size in inputs[value.name].shape)
            options += ["--measure-shape", f"{value.name}={shape}"]
    return options


def of_report(report):
    """The figures of a report that a table shows. Times are in milliseconds, gains in percent."""
    original, optimized = report["original"], report["optimized"]
    measured, after = original["measured_us"]["median"], optimized["measured_us"]["median"]
    return {
        "outcome": report["outcome"],
        "device": report["device"]["name"],
        "predicted_ms": original["predicted_us"] / 1e3,
        "measured_ms": None if measured is None else measured / 1e3,
        "predicted_of_measured": measured and original["predicted_us"] / measured,
        "estimated_kernels": original["kernels"]["estimated"],
        "predicted_gain": report["predicted_speedup_percent"],
        "measured_gain": report["speedup_percent"],
        "result_predicted_of_measured":
            after and optimized["predicted_us"] / after,
        "phase_seconds": json.dumps(report["phase_seconds"]),
        "rewrites": len(report["journal"]),
    }


def by_quotient(program, path, out, device, inputs, options):
    """Runs `quotient optimize`. Returns a row of figures; it has "error" if there is no answer."""
    report = out.with_suffix(".json")
    command = [program, "optimize", str(path), "-o", str(out), "--device", device, "--report",
               str(report), "--html", str(out.with_suffix(".html")),
               *measure_shapes(path, inputs), *options]
    status, errors, seconds, peak = run_watched(command)
    row = {"seconds": seconds, "peak_mib": peak / 2**20}
    if status != 0:
        last = errors.strip().splitlines()[-1:] or ["no message"]
        return row | {"error": f"exit {status}: {last[0]}"}
    return row | of_report(json.loads(report.read_text()))


# Others are programs for Python. That of Quotient is a command: `quotient simplify`.
OWN_SIMPLIFIER = "simplify"
OTHER_SIMPLIFIERS = {
    "onnxsim": "import onnx, onnxsim, sys\n"
               "model, _ = onnxsim.simplify(onnx.load(sys.argv[1]))\n"
               "onnx.save(model, sys.argv[2])\n",
    "onnxslim": "import onnxslim, sys\nonnxslim.slim(sys.argv[1], sys.argv[2])\n",
}

SIMPLIFIERS = (OWN_SIMPLIFIER, *OTHER_SIMPLIFIERS)


def by_simplifier(name, program, path, out, threads):
    """Runs a simplifier in a process of its own. Returns a row as `by_quotient` does."""
    if name == OWN_SIMPLIFIER:
        command = [program, name, str(path), str(out), "--threads", str(threads)]
    else:
        command = [sys.executable, "-c", OTHER_SIMPLIFIERS[name], str(path), str(out)]
    status, errors, seconds, peak = run_watched(command)
    row = {"seconds": seconds, "peak_mib": peak / 2**20}
    if status != 0:
        last = errors.strip().splitlines()[-1:] or ["no message"]
        return row | {"error": f"exit {status}: {last[0]}"}
    return row
