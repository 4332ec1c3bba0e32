"""make_network: a file, or why not."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["QUOTIENT_BIN_DIR"]) / "make_network"


def make(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60)


class MakeNetworkTest(unittest.TestCase):
    def test_writes_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "net.onnx"
            ran = make("squeezenet", "-o", path, "--batch", "N", "--batch-norm")
            self.assertEqual((0, "", ""), (ran.returncode, ran.stdout, ran.stderr))
            self.assertGreater(path.stat().st_size, 4_000_000)
            ran = make("squeezenet", "-o", pathlib.Path(folder) / "no" / "net.onnx")
            self.assertEqual(1, ran.returncode)
            self.assertIn("no/net.onnx", ran.stderr)

    def test_help(self):
        for word in ("--help", "-h"):
            ran = make(word)
            self.assertEqual((0, ""), (ran.returncode, ran.stderr))
            for name in ("bert", "nasrnn", "resnet50", "resnext50", "nasnet", "inception_v3",
                         "mobilenet_v2", "mobileone", "squeezenet", "vgg19", "--batch",
                         "--type"):
                self.assertIn(name, ran.stdout)

    def test_mistakes_are_named(self):
        for arguments, message in [
                ([], "NAME: is missing"),
                (["squeezenet"], "-o: is missing"),
                (["lenet"], "NAME: wants one of bert, nasrnn"),
                (["bert", "vgg19"], "vgg19: one network at a time"),
                (["squeezenet", "--batch", "0"], "--batch: wants a number from 1 on or a symbol"),
                (["squeezenet", "--batch", "-3"], "--batch: wants a number from 1 on or a symbol"),
                (["squeezenet", "--batch", "2N"], "--batch: wants a number from 1 on or a symbol"),
                (["bert", "--paper", "--batch", "2"], "--batch: bert of the papers has none"),
                (["bert", "--type", "float64"], "--type: wants float32, float16 or bfloat16, not"),
                (["resnet50", "--batch-norm"], "--batch-norm: not for resnet50"),
                (["vgg19", "--batch-norm", "--paper"], "--batch-norm: not with --paper"),
                (["mobileone", "--paper"], "--paper: not for mobileone"),
                (["squeezenet", "--size", "3"], "--size: unknown argument")]:
            with self.subTest(arguments=arguments):
                with tempfile.TemporaryDirectory() as folder:
                    output = [] if arguments in ([], ["squeezenet"]) else ["-o", f"{folder}/x"]
                    ran = make(*arguments, *output)
                    self.assertEqual((2, ""), (ran.returncode, ran.stdout))
                    self.assertIn(f"make_network: {message}", ran.stderr)
                    self.assertEqual([], os.listdir(folder))


if __name__ == "__main__":
    unittest.main()
