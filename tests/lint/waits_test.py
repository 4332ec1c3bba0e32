"""The lint of waits finds those that are by the machine's clock."""

import pathlib
import tempfile
import unittest

import waits

SOURCE = """
// AwaitWithTimeout is not used.
mutex_.Await(absl::Condition(&done));
mutex_.AwaitFor(done, step);
mutex_.AwaitWithTimeout(absl::Condition(&done), step);
changed_.WaitWithDeadline(&mutex_, end);
if (!ended.WaitForNotificationWithTimeout(step)) return;
context.set_deadline(absl::ToChronoTime(absl::Now() + time));
give_up_ = absl::Now() + patience_;
"""


class WaitsTest(unittest.TestCase):
    def test_names_each_wait_by_the_machines_clock(self):
        self.assertEqual([5, 6, 7, 9], [number for number, _ in waits.mistakes_in(SOURCE)])

    def test_looks_at_sources_of_the_product(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory).resolve()
            for name in ("core/base/a.h", "server/b.cc", "tests/core/c.cc", "core/README.md"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("mutex_.LockWhenWithTimeout(ready, time);\n")
            found = [line.split(": ")[0] for line in waits.mistakes(root)]
        self.assertEqual(["core/base/a.h:1", "server/b.cc:1"], found)


if __name__ == "__main__":
    unittest.main()
