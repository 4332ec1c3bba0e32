"""What rules are worth: counted by each job, here and on a server, and shown."""

import json
import os
import unittest

import onnx

import harness
import models

DEVICE = ("--device", "model:h200", "--budget", "5s")


class RuleStatsTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.branches(blocks=2), self.folder / "m.onnx")

    def optimize(self, *more):
        result = self.quotient("optimize", "m.onnx", "-o", "out.onnx", "--report", "r.json",
                               *DEVICE, *more)
        self.assert_code(result, 0)
        return result, json.loads((self.folder / "r.json").read_text())

    def stats(self, *more):
        result = self.quotient("rules", "--stats", "--json", *more)
        self.assert_code(result, 0)
        return result.json()["devices"]

    def check(self, device, report, jobs):
        """The statistics are those of so many jobs with this report."""
        self.assertEqual(device["fingerprint"], report["device"]["fingerprint"])
        self.assertEqual(device["jobs"], jobs)
        known = {rule["rule"]: rule for rule in device["rules"]}
        self.assertEqual(set(known), {rule["rule"] for rule in report["rules"]})
        for rule in report["rules"]:
            kept = known[rule["rule"]]
            self.assertTrue(kept["present"])
            self.assertEqual(kept["jobs"], jobs)
            for count in ("matches", "applied", "enodes", "uses"):
                self.assertEqual(kept[count], jobs * rule[count], rule)
            self.assertAlmostEqual(
                kept["saved_percent"],
                100 * rule["saved_us"] / report["original"]["predicted_us"])

    def test_jobs_in_this_process_add_up(self):
        self.assertEqual(self.stats(), [])
        result, report = self.optimize("--local")
        merge = next(rule for rule in report["rules"] if rule["rule"] == "conv-merge")
        self.assertGreater(merge["uses"], 0)
        self.assertGreater(merge["saved_us"], 0)
        self.assertRegex(result.out, r"  rules: [0-9]+ of [0-9]+ rules? with a match (is|are) in the "
                                     r"result; the others made [0-9]+ of [0-9]+ e-nodes?\n")
        self.optimize("--local")
        self.check(*self.stats(), report, jobs=2)
        table = self.quotient("rules", "--stats")
        self.assert_code(table, 0)
        self.assertIn(": 2 jobs, the last one at ", table.out)
        self.assertRegex(table.out, r"\n  conv-merge +2 +2 ")
        one = self.quotient("rules", "conv-merge")
        self.assert_code(one, 0)
        self.assertRegex(one.out, r"statistics:\n.*: 2 jobs, .*\n +rule .*\n  conv-merge +2 +2 .*\n$")

    def test_what_is_known_of_rules_changes_no_result(self):
        self.optimize("--local", "--max-nodes", "60", "--simulations", "200")
        first = (self.folder / "out.onnx").read_bytes()
        for _ in range(2):
            self.optimize("--local", "--max-nodes", "60", "--simulations", "200")
            self.assertEqual((self.folder / "out.onnx").read_bytes(), first)

    def test_a_server_counts_jobs_and_not_their_equals(self):
        server = self.serve()
        _, report = self.optimize()
        result, _ = self.optimize()
        self.assertIn("result of an equal job", result.err)
        kept = os.path.join(server.folder, "data", "rules.db")
        self.check(*self.stats("--stats-from", kept), report, jobs=1)
        server.kill()
        server.start()
        self.optimize("--no-cache")
        self.check(*self.stats("--stats-from", kept), report, jobs=2)

    def test_files_that_are_no_statistics(self):
        for name, content in (("list", b"eggs\n"), ("next", b"QRULES2\n...")):
            (self.folder / name).write_bytes(content)
            self.assert_code(self.quotient("rules", "--stats-from", name), 2, name)
        self.assert_code(self.quotient("rules", "--stats-from", "nowhere"), 2, "nowhere")
        self.assert_code(self.quotient("rules", "conv-merge", "--stats-from", "list"), 2, "list")
        # Jobs go on without.
        cache = self.folder / "cache" / "quotient"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "rules.db").write_bytes(b"eggs\n")
        result, _ = self.optimize("--local")
        self.assertIn("statistics of rules are not kept", result.err)
        shown = self.quotient("rules", "conv-merge")
        self.assert_code(shown, 0)
        self.assertIn("statistics: not known: ", shown.out)


if __name__ == "__main__":
    unittest.main()
