"""Dashboards, rules and runbooks are what deploy/dashboards writes, and ask for nothing that no server has."""

import copy
import dataclasses
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
sys.path.insert(0, str(DEPLOY / "dashboards"))

import boards
import generate
import grafana_json
import grafana_model
import metric_page
import pictures
import promql
import review
import rules
import scales

METRICS = metric_page.read()


def found_in(expr):
    return review.query_mistakes(expr, METRICS)[0]


class MetricPageTest(unittest.TestCase):
    def test_every_row_is_read(self):
        names = re.findall(r"^\| `(\w+)`", metric_page.PAGE.read_text(), re.MULTILINE)
        self.assertEqual(list(METRICS), names)
        self.assertGreater(len(names), 50)

    def test_labels_and_their_values_are_known(self):
        self.assertEqual(METRICS["quotient_uploads_total"].labels,
                         {"outcome": ["committed", "deduplicated", "digest_mismatch", "interrupted"]})
        self.assertEqual(METRICS["quotient_gpu_up"].labels, {"gpu": None, "gpu_uuid": None})
        self.assertEqual(METRICS["quotient_jobs_finished_total"].labels["reason"][:2], ["", "MODEL_MALFORMED"])
        self.assertIn("SubmitJob", METRICS["grpc_server_handled_total"].labels["grpc_method"])


class PromqlTest(unittest.TestCase):
    def test_selectors_are_found_and_nothing_else(self):
        found = promql.selectors('sum by (le, a) (rate(x_bucket{b="c,}"}[5m])) / on (a) group_left (d) '
                                 "(max_over_time(y[1h] offset 5m) > bool 1e3) or vector(0) and z:w unless -v")
        self.assertEqual([(one.name, one.function, one.has_range) for one in found],
                         [("x_bucket", "rate", True), ("y", "max_over_time", True), ("z:w", "", False),
                          ("v", "", False)])
        self.assertEqual(found[0].matchers, (promql.Matcher("b", "=", "c,}"),))

    def test_matchers_are_added_to_each_selector(self):
        self.assertEqual(promql.with_matchers('a{b="c"} / (sum(d[1m]) > 0) + e{}', 'j="k"'),
                         'a{b="c",j="k"} / (sum(d{j="k"}[1m]) > 0) + e{j="k"}')

    def test_what_is_not_promql_is_refused(self):
        for text in ("a # b", 'a{b="c', "a{b=c}"):
            with self.assertRaises((ValueError, IndexError), msg=text):
                promql.selectors(text)


class ReviewTest(unittest.TestCase):
    def test_nothing_is_wrong(self):
        self.assertEqual(review.mistakes(METRICS), [])

    def test_queries_that_no_server_answers_are_found(self):
        for expr, mistake in (
                ("quotient_redy", "there is no metric quotient_redy"),
                ("quotient_job_run_seconds", "there is no metric quotient_job_run_seconds"),
                ("quotient_ready_total", "there is no metric quotient_ready_total"),
                ("job:quotient_jobs:p50", "there is no metric job:quotient_jobs:p50"),
                ('quotient_jobs{phase="read"}', "quotient_jobs has no label phase"),
                ('quotient_jobs{state="waiting"}', "quotient_jobs has no state 'waiting'"),
                ('quotient_jobs{state=~"queued|wait.*"}', "quotient_jobs has no state 'wait.*'"),
                ("sum by (phase) (quotient_jobs)", "no metric of the query has the label phase"),
                ("quotient_uploads_total", "quotient_uploads_total is a counter: take its rate"),
                ("sum(quotient_uploads_total)", "quotient_uploads_total is a counter: take its rate"),
                ("rate(quotient_leases[5m])", "quotient_leases is a gauge, of which rate means nothing"),
                ("histogram_quantile(0.5, sum by (phase) (rate(quotient_job_run_seconds_bucket[5m])))",
                 "histogram_quantile needs le")):
            self.assertEqual(found_in(expr), [mistake], expr)

    def test_queries_that_a_server_answers_pass(self):
        for expr in ('quotient_jobs{state=~"queued|run.*",instance="a"}',
                     'increase(quotient_jobs_finished_total{state="failed",reason=~"|INTERNAL"}[1h])',
                     "sum by (job, gpu) (quotient_gpu_up)", 'up{job="x"} == 0'):
            self.assertEqual(found_in(expr), [], expr)

    def test_legends_name_labels_that_are_kept(self):
        panel = boards.SERVICE.panels()[8]
        query = dataclasses.replace(panel.queries[0], legend="{{reason}}")
        self.assertEqual(review.panel_mistakes(dataclasses.replace(panel, queries=(query,)), METRICS)[0],
                         ["the legend names reason, which the query does not keep"])

    def test_metrics_that_no_panel_shows_are_found(self):
        row = "| `quotient_naps_total` | counter |  | Naps. |\n"
        page = metric_page.PAGE.read_text().replace("| `quotient_leases`", row + "| `quotient_leases`")
        self.assertEqual(review.mistakes(metric_page.read(page)),
                         ["no panel shows quotient_naps_total; add one, or put it into boards.LEFT_OUT with the "
                          "reason"])

    def test_metrics_that_are_left_out_are_not_shown(self):
        with mock.patch.object(boards, "LEFT_OUT", {"quotient_leases": "of no use"}):
            self.assertEqual(review.mistakes(METRICS), ["boards.LEFT_OUT has quotient_leases, which is shown"])

    def test_new_reasons_of_failures_have_to_be_blamed_on_somebody(self):
        page = metric_page.PAGE.read_text().replace("`POISONED`,", "`POISONED`, `BEWITCHED`,")
        self.assertEqual(review.mistakes(metric_page.read(page)), ["blame.py: 'BEWITCHED' is in 0 lists"])


class FilesTest(unittest.TestCase):
    def test_they_are_current(self):
        self.assertEqual(generate.stale(DEPLOY, generate.files()), [])

    def test_what_is_not_current_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, DEPLOY / "dashboards" / "generate.py", "--out", folder]
            subprocess.run(command, check=True)
            subprocess.run([*command, "--check"], check=True)
            root = pathlib.Path(folder)
            (root / "prometheus" / "alerts.yml").write_text("groups: []\n")
            (root / "dashboards" / "grafana" / "old.json").write_text("{}")
            (root / "dashboards" / "grafana" / "queue.json").unlink()
            run = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertEqual([line.partition(":")[0] for line in run.stderr.splitlines()],
                             ["dashboards/grafana/queue.json", "prometheus/alerts.yml", "dashboards/grafana/old.json"])

    def test_alerts_say_where_their_runbook_is(self):
        page = generate.files("https://example.org/runbooks")["prometheus/RUNBOOKS.md"]
        anchors = [title.lower() for title in re.findall(r"^## (\w+)$", page, re.MULTILINE)]
        text = generate.files("https://example.org/runbooks")["prometheus/alerts.yml"]
        named = re.findall(r'runbook_url: "https://example\.org/runbooks#(\w+)"', text)
        self.assertEqual(named, anchors)
        self.assertEqual(len(named), len(rules.ALERTS))

    def test_runbooks_name_panels_that_there_are(self):
        titles = {board.name: [panel.title for panel in board.panels()] for board in boards.ALL}
        mentions = [(alert.name, text, name) for alert in rules.ALERTS for step in alert.steps
                    for text, name in re.findall(r"([^()]+) \((\w+)\)", step) if name in titles]
        self.assertGreater(len(mentions), 10)
        for alert, text, name in mentions:
            self.assertTrue(any(text.endswith(title) for title in titles[name]), f"{alert}: {text} ({name})")


class GrafanaTest(unittest.TestCase):
    def test_dashboards_have_the_form_that_grafana_documents(self):
        for board in boards.ALL:
            text = (DEPLOY / "dashboards" / "grafana" / f"{board.name}.json").read_text()
            self.assertEqual(grafana_model.mistakes(json.loads(text)), [], board.name)

    def test_other_forms_are_found(self):
        def change(*path, value):
            board = copy.deepcopy(grafana_json.as_model(boards.QUEUE))
            at = board
            for name in path[:-1]:
                at = at[name]
            at[path[-1]] = value
            return grafana_model.mistakes(board)

        panel = ("panels", 1)
        self.assertEqual(change("panels", 0, "title", value="Waiting"), [])
        for path, value, mistake in (
                (("theme",), "dark", "dashboard has an unknown theme"),
                (("refresh",), 30, "dashboard.refresh is 30"),
                (("schemaVersion",), 16, "dashboard.schemaVersion is 16"),
                ((*panel, "type"), "graph", "a panel of the type graph"),
                ((*panel, "span"), 6, "Jobs by state has an unknown span"),
                ((*panel, "id"), 1, "two panels have one id"),
                ((*panel, "fieldConfig", "defaults", "unit"), "parsecs",
                 "Jobs by state.fieldConfig.defaults.unit is 'parsecs'"),
                ((*panel, "gridPos", "w"), 13, "Oldest wait lies over Jobs by state"),
                ((*panel, "gridPos", "x"), 20, "Jobs by state does not fit into the grid"),
                ((*panel, "targets", 0, "expr"), "x[$step]", "there is no variable step")):
            self.assertIn(mistake, change(*path, value=value))

    def test_every_query_is_restricted_to_what_was_chosen(self):
        for board in boards.ALL:
            for panel in grafana_json.as_model(board)["panels"]:
                for target in panel.get("targets", ()):
                    for selector in promql.selectors(target["expr"]):
                        self.assertIn(promql.Matcher("instance", "=~", "$instance"), selector.matchers)


class PicturesTest(unittest.TestCase):
    def drawn(self, board, data):
        series = {panel.title: data(panel) for panel in board.panels()}
        picture = pictures.svg(board, series, 0, 600)
        xml.etree.ElementTree.fromstring(picture)
        return picture

    def test_where_there_is_no_data_it_says_so(self):
        for board in boards.ALL:
            self.assertEqual(self.drawn(board, lambda panel: []).count(">no data<"), len(board.panels()))

    def test_data_of_every_kind_is_drawn(self):
        values = [(0, 1.0), (10, math.nan), (20, 0.0), (50, 3.0), (60, 2.0)]
        for board in boards.ALL:
            picture = self.drawn(board, lambda panel: (
                [("0.5", values), ("+Inf", values)] if panel.kind == "heat" else [("<a & b>", values)]))
            self.assertNotIn(">no data<", picture)
            self.assertIn("&lt;a &amp; b&gt;", picture)

    def test_marks_are_round_numbers_of_their_unit(self):
        texts = [[scales.text_of(mark, unit) for mark in scales.ticks(0, high, unit)]
                 for unit, high in (("short", 3700), ("s", 0.09), ("s", 400), ("bytes", 3.2 * 2**20), ("percentunit", 1))]
        self.assertEqual(texts, [
            ["0", "1 k", "2 k", "3 k", "4 k"],
            ["0 s", "25 ms", "50 ms", "75 ms", "100 ms"],
            ["0 s", "2 min", "4 min", "6 min", "8 min"],
            ["0 B", "1 MiB", "2 MiB", "3 MiB", "4 MiB"],
            ["0 %", "25 %", "50 %", "75 %", "100 %"]])

    def test_gaps_are_no_lines(self):
        self.assertEqual(pictures.path([(0, 5), (1, 5), (2, 5), None, (4, 5), (5, 6)]), "M0,5L2,5M4,5L5,6")
        self.assertEqual(pictures.runs([(0, 1), (0, 2), None, (0, 1)], is_bars=False), [[0, 1], [3]])


if __name__ == "__main__":
    unittest.main()
