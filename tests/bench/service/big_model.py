#!/usr/bin/env python3
"""Sends a model with large weights through a server, and shows what each process takes.

    big_model.py [--width N] [--layers N] [--folder DIR] [--most-server-mib N]

The model is products of matrices of N x N float32, each in a file of its own, and pairs of transpositions that
cancel each other. `quotient optimize` uploads it, waits for the job, and downloads the result, if there is a better
model. Then the same is asked for again: that is found, once by the server that has made it and once by one that was
started anew. In the end `quotient result` downloads all, weights included, whether they are new or not. A line per
step: the seconds, and the most that server, job and client took, in MiB; "mapped" is files in memory, which the kernel
takes away when it needs room. The exit status is 1 if the server took more than it may.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.append(str(pathlib.Path(__file__).parents[2] / "e2e"))
import harness  # noqa: E402
from process_figures import Peak  # noqa: E402

BATCH = 4
PAIRS = 8  # Of transpositions.
BLOCK_VALUES = 1 << 20


def write_weights(path, width, seed):
    """A matrix of one block of random numbers over and over, but for a first row that says which matrix it is."""
    random = np.random.default_rng(0)
    block = (random.standard_normal(BLOCK_VALUES, np.float32) / np.float32(np.sqrt(width))).tobytes()
    size = 4 * width * width
    with open(path, "wb") as file:
        for begin in range(0, size, len(block)):
            file.write(block[:size - begin])
        file.seek(0)
        file.write(np.full(1, (seed + 1) / width, np.float32).tobytes())


def external(name, width, location):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[width, width],
                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", str(4 * width * width))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def write_model(folder, width, layers):
    nodes, weights, value = [], [], "x"

    def add(operator, *inputs, **attributes):
        nodes.append(helper.make_node(operator, inputs, [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]
    for i in range(layers):
        write_weights(folder / f"w{i}.bin", width, i)
        weights.append(external(f"w{i}", width, f"w{i}.bin"))
        value = add("Relu", add("MatMul", value, f"w{i}"))
    for _ in range(PAIRS):
        value = add("Transpose", add("Transpose", value, perm=[1, 0]), perm=[1, 0])
    nodes[-1].output[0] = "y"
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, width]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "big", shape[:1], shape[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "big.onnx").write_bytes(model.SerializeToString())


class Steps:
    """Runs the client, and prints what the processes take meanwhile."""

    def __init__(self, folder, server, env):
        self.folder, self.server, self.env = folder, server, env
        self.most_server_mib = 0
        print(f"{'step':24} {'seconds':>8} {'server':>7} {'mapped':>7} {'job':>7} {'mapped':>7} {'client':>7} {'mapped':>7}")

    def run(self, name, *words):
        begin = time.monotonic()
        log = self.folder / "client.log"
        with open(log, "w") as file:
            client = subprocess.Popen([harness.BIN / "quotient", *words], cwd=self.folder, env=self.env, stdout=file,
                                      stderr=file, preexec_fn=harness.die_with_parent)
        pid = self.server.process.pid
        with Peak(lambda: [pid]) as server, Peak(lambda: harness.descendants(pid, "quotient-job")) as job, \
                Peak(lambda: [client.pid]) as own:
            code = client.wait()
        columns = "".join(f" {peak.most['anon_mib']:7.0f} {peak.most['file_mib']:7.0f}" for peak in (server, job, own))
        print(f"{name:24} {time.monotonic() - begin:8.1f}{columns}", flush=True)
        self.most_server_mib = max(self.most_server_mib, server.most["resident_mib"])
        if code != 0:
            raise RuntimeError(f"{name}: exit status {code}\n{log.read_text()}")


def measure(folder, options):
    write_model(folder, options.width, options.layers)
    megabytes = options.layers * 4 * options.width**2 / 1e6
    print(f"{options.layers} files of weights, {megabytes:.0f} MB in all")
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    server = harness.Server(folder, env)
    try:
        optimize = ("optimize", "big.onnx", "--device", "model:h200", "--simulations", "20", "--server",
                    server.address, "-o")
        for name in ("out", "fetched"):
            (folder / name).mkdir()
        steps = Steps(folder, server, env)
        steps.run("optimize", *optimize, "out/big.onnx")
        print("the result is", "a better model" if (folder / "out" / "big.onnx.data").exists() else "the model itself")
        steps.run("find again", *optimize, "out/big.onnx", "--only-cached")
        server.kill()
        server.start()
        steps.run("find after a restart", *optimize, "out/big.onnx", "--only-cached")
        shutil.rmtree(folder / "out")
        listed = subprocess.run([harness.BIN / "quotient", "jobs", "--json", "--server", server.address], env=env,
                                stdout=subprocess.PIPE, text=True, check=True)
        steps.run("fetch", "result", json.loads(listed.stdout)["name"], "-o", "fetched/big.onnx", "--server",
                  server.address)
        size = sum(file.stat().st_size for file in (folder / "fetched").iterdir())
        if size < 1e6 * megabytes:
            raise RuntimeError(f"only {size} bytes were fetched")
    finally:
        server.kill()
    print(f"the server took at most {steps.most_server_mib:.0f} MiB")
    return steps.most_server_mib


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=16384)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--folder", type=pathlib.Path, help="where there is room for four times the model")
    parser.add_argument("--most-server-mib", type=float, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return 0 if measure(pathlib.Path(folder), options) <= options.most_server_mib else 1


if __name__ == "__main__":
    sys.exit(main())
