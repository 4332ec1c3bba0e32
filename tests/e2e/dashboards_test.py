"""Every query of the dashboards and rules is answered by a real Prometheus that scrapes a real server at work.

With QUOTIENT_PICTURES=DIR and QUOTIENT_PICTURE_MINUTES=N the server works for so long, and the dashboards are drawn
into DIR.
"""

import math
import os
import pathlib
import re
import time
import unittest
import xml.etree.ElementTree

import onnx

import harness
import models
from prometheus import REPO, Prometheus, metrics_address

# From deploy/dashboards, which is on the path since then.
import boards
import draw
import grafana_json
import review
import rules
from prometheus_api import filled_in

# The search of such a job takes all of its budget.
LONG = ("--device", "model:h200", "--max-nodes", "100", "--budget", "1h")
QUICK = ("--device", "model:h200", "--simulations", "5")
RULE_FILES = [REPO / "deploy" / "prometheus" / name for name in ("recording.yml", "alerts.yml")]
# The machine that runs the tests may be so busy that a scrape is late and calls take long, and others may write to its disk.
OF_THE_MACHINE = {"QuotientCallsSlow", "QuotientDown", "QuotientTimingNoisy", "QuotientDiskWillFill"}
SERVICE = "quotient"  # The scrape job.
# Panels of what does not happen here.
NO_FAULTS = {"Device failures", "Failed operations of the job store", "Failed by our fault, by method"}
# More than the pause between two scrapes on a machine that is busy.
RATE_SECONDS = 30


def as_asked(expr):
    return filled_in(expr, RATE_SECONDS, SERVICE)


class DashboardsTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        onnx.save(models.chain(), self.folder / "long.onnx")
        for i in range(3):
            onnx.save(models.conv_bn_relu(i + 1), self.folder / f"m{i}.onnx")
        (self.folder / "broken.onnx").write_bytes(b"no model")
        # What stands for NVML in the tests of the server, so that there are GPUs to look at.
        nvml = self.folder / "nvml"
        nvml.mkdir()
        (nvml / "libnvidia-ml.so.1").symlink_to(harness.BIN / "libserver_test_nvml.so")
        client_env = dict(self.env)
        self.env["LD_LIBRARY_PATH"] = str(nvml)
        self.server = self.serve("--metrics-listen", "127.0.0.1:0", "--checkpoint-seconds", "1",
                                 "--tidy-seconds", "1")
        self.env = {**client_env, "QUOTIENT_SERVER": self.server.address}
        self.prometheus = Prometheus(self, {SERVICE: [metrics_address(self.server)]}, RULE_FILES)
        # What happens from now on is a rise of what it has seen. Before the first scrape it missed the server.
        self.prometheus.wait_for("quotient_ready and on () quotient_gpu_up and on () absent(ALERTS)")
        self.begin = time.time()

    def submit(self, model, *options):
        result = self.quotient("submit", model, *options)
        self.assert_code(result, 0)
        return result.out.strip()

    def work(self, seed):
        """One of each thing that a server does, and waits until Prometheus has seen the shorter ones."""
        long = self.submit("long.onnx", *LONG, "--seed", seed)
        with self.running("watch", long, "--json") as watcher:
            harness.read_until(watcher.stdout, "enodes")
            waiting = self.submit("m0.onnx", *QUICK, "--seed", seed)
            self.assertEqual(self.submit("m0.onnx", *QUICK, "--seed", seed), waiting)
            unwanted = self.submit("m1.onnx", *QUICK, "--seed", seed)
            # Once: more of them would be the server's fault.
            late = self.submit("m2.onnx", *QUICK, "--queue-deadline", "1s") if seed == 1 else None
            self.prometheus.wait_for('quotient_jobs{state="queued"} > 0 and on () quotient_watchers > 0 '
                                     "and on () quotient_leases > 0")
            self.prometheus.wait_for('increase(quotient_checkpoints_total{outcome="saved"}[10s]) > 0')
            self.assert_code(self.quotient("cancel", unwanted), 0)
            if late:
                self.assertNotEqual(self.quotient("watch", late).code, 0)
        self.assert_code(self.quotient("stop", long), 0)
        self.assert_code(self.quotient("watch", waiting), 0)
        # Measured here.
        self.assert_code(self.quotient("optimize", "m2.onnx", "-o", "o.onnx", "--budget", "1s", "--seed", seed), 0)
        self.assert_code(self.quotient("optimize", "m2.onnx", "-o", "o.onnx", "--budget", "1s", "--seed", seed), 0)
        self.assertNotEqual(self.quotient("optimize", "broken.onnx", "-o", "o.onnx", "--seed", seed).code, 0)
        self.assertNotEqual(self.quotient("validate", "broken.onnx").code, 0)
        self.assert_code(self.quotient("validate", "m0.onnx"), 0)
        self.assertNotEqual(self.quotient("watch", "jobs/00000000000000000000").code, 0)
        self.assert_code(self.quotient("jobs"), 0)
        self.assert_code(self.quotient("delete", waiting), 0)

    def load(self):
        """Works as long as it was asked for, once at least, and waits until Prometheus knows."""
        minutes = float(os.environ.get("QUOTIENT_PICTURE_MINUTES", "0"))
        seed = 0
        while seed == 0 or time.time() < self.begin + 60 * minutes:
            seed += 1
            self.work(seed)
        ended = sum(float(value) for value in re.findall(
            r"^quotient_jobs_finished_total\{.*\} (\d+)$", self.server.metrics(), re.MULTILINE))
        # A scrape later, so that the last rise is within an interval.
        self.prometheus.wait_for(f"sum(quotient_jobs_finished_total) >= {ended:g}")
        self.prometheus.wait_for(f"timestamp(quotient_ready) > {time.time() + 1}")

    def test_every_query_is_answered(self):
        self.load()
        end = time.time()
        self.check_panels(end)
        self.check_variables_and_annotations()
        self.check_rules()
        self.draw(end)
        # The other way round: an alert that has a cause.
        self.server.kill()
        self.prometheus.wait_for('ALERTS{alertname="QuotientDown",alertstate="pending",job="quotient"}')

    def check_panels(self, end):
        for board in boards.ALL:
            for panel in board.panels():
                for place, query in enumerate(panel.queries):
                    with self.subTest(board=board.name, panel=panel.title, query=query.expr):
                        asked = as_asked(grafana_json.target(panel, place, query)["expr"])
                        self.check_answer(panel, query, self.prometheus.over_time(asked, self.begin, end, 1))

    def check_answer(self, panel, query, series):
        # A label without a value is none for Prometheus.
        if series:
            self.assertLessEqual(set(review.LEGEND.findall(query.legend)), set().union(*(one for one, _ in series)))
        names = [draw.name_of(query, labels) for labels, _ in series]
        self.assertEqual(len(set(names)), len(names), f"lines that cannot be told apart: {names}")
        if panel.title in NO_FAULTS:
            self.assertTrue(panel.may_be_empty)
        else:
            numbers = [value for _, values in series for _, value in values if math.isfinite(value)]
            self.assertTrue(numbers, "no data")

    def check_variables_and_annotations(self):
        for board in boards.ALL:
            model = grafana_json.as_model(board)
            for variable in model["templating"]["list"][1:]:
                metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
                found = self.prometheus.now(f"group by ({label}) ({as_asked(metric)})")
                self.assertTrue(all(labels.get(label) for labels, _ in found) and found, variable)
            for annotation in model["annotations"]["list"][1:]:
                # The time of the start, in milliseconds, as Grafana wants it.
                [(_, value)] = self.prometheus.now(as_asked(annotation["expr"]))
                self.assertLess(abs(value / 1000 - self.begin), harness.PATIENCE_SECONDS)

    def check_rules(self):
        told = [rule for group in self.prometheus.get("rules")["groups"] for rule in group["rules"]]
        self.assertEqual({rule["name"] for rule in told},
                         {rule.name for rule in (*rules.ALERTS, *rules.RECORDED_RULES)})
        for rule in told:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
        for rule in rules.RECORDED_RULES:
            with self.subTest(rule=rule.name):
                found = self.prometheus.now(f"last_over_time({rule.name}[1m])")
                self.assertTrue(found)
                for labels, _ in found:
                    self.assertEqual(set(labels) - {"__name__"}, set(rule.labels))
        # Nothing of what was done is a fault of the server's.
        raised = {labels["alertname"] for labels, _ in self.prometheus.over_time("ALERTS", self.begin, time.time(), 1)}
        self.assertLessEqual(raised, OF_THE_MACHINE)

    def draw(self, end):
        out = pathlib.Path(os.environ.get("QUOTIENT_PICTURES", self.folder / "pictures"))
        out.mkdir(parents=True, exist_ok=True)
        for board in boards.ALL:
            picture = draw.draw(board, self.prometheus, self.begin, end, scrape_seconds=1)
            xml.etree.ElementTree.fromstring(picture)
            for panel in board.panels():
                self.assertIn(panel.title.split()[0], picture)
            (out / f"{board.name}.svg").write_text(picture)


if __name__ == "__main__":
    unittest.main()
