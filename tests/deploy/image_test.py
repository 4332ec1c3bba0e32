"""The Dockerfile's images: what can be tried of them without an engine. image_in_root.py tries more."""

import re
import subprocess
import sys
import unittest

import image

sys.path.append(str(image.ROOT / "tests/e2e"))
import harness  # noqa: E402


class ImageTest(harness.TestCase):
    def health(self, port):
        command = [word.replace("9464", port) for word in image.health_command()]
        return subprocess.run(command, capture_output=True, timeout=harness.PATIENCE_SECONDS, check=False).returncode

    def test_health_is_that_of_the_server(self):
        server = self.serve("--metrics-listen", "127.0.0.1:0")
        port = re.search(r"metrics on [^ ]+:(\d+)/metrics", server.log.read_text())[1]
        self.assertEqual(0, self.health(port))
        server.kill()
        self.assertNotEqual(0, self.health(port))

    def test_health_asks_the_port_that_is_served(self):
        command = image.server_command()
        served = command[command.index("--metrics-listen") + 1].rpartition(":")[2]
        self.assertIn(f"/{served} ", image.health_command()[-1])
        for flag in ("--listen", "--metrics-listen"):
            self.assertIn(command[command.index(flag) + 1].rpartition(":")[2], image.instruction("EXPOSE").split())
        self.assertEqual(image.instruction("VOLUME"), command[command.index("--data-dir") + 1])

    def test_version_is_that_of_the_programs(self):
        version = re.search(r"project\(Quotient VERSION (\S+)", (image.ROOT / "CMakeLists.txt").read_text())[1]
        labels = [text for word, text in image.instructions("cuda") if word == "LABEL"]
        self.assertIn(f'image.version="{version}"', labels[0])
        self.assertNotIn("image.version", labels[1])  # it would hide the other one

    def test_what_is_built_without_a_target_has_no_cuda(self):
        self.assertEqual("runtime", image.stages()[-1][0])
        self.assertNotIn("cuda", str(image.instructions("runtime")))

    def test_with_cuda_it_is_the_same_server(self):
        server, cuda = image.instructions("server"), image.instructions("cuda")
        self.assertEqual(server, cuda[:len(server)])
        for word in ("USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
            self.assertEqual(image.instruction(word), image.instruction(word, "cuda"))
        self.assertIn("quotient-cuda_", image.instruction("RUN", "cuda"))


if __name__ == "__main__":
    unittest.main()
