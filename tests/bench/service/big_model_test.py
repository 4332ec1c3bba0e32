"""big_model: what the server takes does not grow with the weights."""

import argparse
import pathlib
import tempfile
import unittest

import big_model
import process_figures
from big_model import harness

# How much more the server may take for weights of 268 MB instead of 4: gRPC holds some tens of MiB more where the
# machine is busy, and one copy of the weights would be twice as much as this.
ALLOWED_MIB = 128


@unittest.skipIf(process_figures.is_sanitized(harness.BIN / "quotientd"), "its memory says nothing")
class BigModelTest(unittest.TestCase):
    def server_mib(self, width):
        with tempfile.TemporaryDirectory() as folder:
            return big_model.measure(pathlib.Path(folder), argparse.Namespace(width=width, layers=4))

    def test_the_server_takes_the_same_for_large_weights(self):
        small, large = self.server_mib(512), self.server_mib(4096)
        self.assertLess(large - small, ALLOWED_MIB)


if __name__ == "__main__":
    unittest.main()
