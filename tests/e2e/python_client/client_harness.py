"""What the tests of the Python client share: a server, and models to send it."""

import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

# The harness forks to start a server while threads of gRPC are at work, and gRPC's handlers may hang in the child. gRPC
# reads this when it is imported, so tests import this module before it.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import harness  # noqa: E402
import models  # noqa: E402

import quotient  # noqa: E402

# Nothing is measured, and the search is over at once.
QUICK = {"device": "model:h200", "max_simulations": 5, "max_nodes": 500}
# The search of such a job takes all of its budget.
LONG = {"device": "model:h200", "max_nodes": 100, "budget": 3600}


class TestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        onnx.save(models.chain(), self.model)

    def client(self, *flags):
        """A client of a server of its own."""
        self.server = self.serve(*flags)
        client = quotient.Client(self.server.address)
        self.addCleanup(client.close)
        return client

    def assert_same(self, original, result):
        """Runs both models in ONNX Runtime on random inputs and compares. `original` is a path."""
        random = np.random.default_rng(1)
        feeds, outputs = {}, []
        for path in (original, result):
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            for node in session.get_inputs():
                feeds.setdefault(node.name, random.standard_normal(node.shape).astype(np.float32))
            outputs.append(session.run(None, feeds))
        for a, b in zip(*outputs):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(a).max())
