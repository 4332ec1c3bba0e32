"""Each alert comes when it should and not when it should not, says promtool (alert_cases.py)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPO = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "deploy" / "dashboards"))

import promql
import rule_files
import rules
from alert_cases import A, CASES, HEALTHY, Fires, Quiet, started_anew
from generate import RUNBOOKS
from model import Group

PROMTOOL = pathlib.Path(os.environ["QUOTIENT_PYTHON"]).parent / "promtool"
RECORDING, ALERTING = (str(REPO / "deploy" / "prometheus" / name) for name in ("recording.yml", "alerts.yml"))
# What is recorded is there for the alerts of the same minute.
GROUPS = [*(group.name for group in (*rules.RECORDED, *rules.ALERTING)), "one"]
ALERTS = {alert.name: alert for alert in rules.ALERTS}


def with_target(series):
    if "instance=" in series:
        return series
    return promql.with_matchers(series, ",".join(f'{label}="{value}"' for label, value in A.items()))


def group(name, series, checks):
    return {"name": name, "interval": "1m",
            "input_series": [{"series": with_target(one), "values": values} for one, values in series.items()],
            "alert_rule_test": checks}


def check(alert, minute, expected=()):
    return {"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": list(expected)}


def expected_alert(case):
    alert = ALERTS[case.alert]
    return {"exp_labels": {**case.labels, "severity": alert.severity},
            "exp_annotations": {"summary": case.summary, "description": alert.description,
                                "runbook_url": f"{RUNBOOKS}#{alert.name.lower()}"}}


def of_fires(case):
    there = [check(case.alert, minute, [expected_alert(case)]) for minute in (case.comes, case.still) if minute]
    return group(f"{case.alert} fires", case.series, [check(case.alert, case.comes - 1), *there])


def of_quiet(case):
    return group(f"{case.alert} is quiet: {case.why}", case.series,
                 [check(case.alert, minute) for minute in range(case.since, case.at + 1)])


def by_alert(kind, group_of):
    groups = {}
    for case in CASES:
        if isinstance(case, kind):
            groups.setdefault(case.alert, []).append(group_of(case))
    return groups


def write_test(folder, name, groups):
    """A file for promtool with one alert, and the recording rules if it needs them: all rules would take a minute."""
    rule = folder / f"{name}.rules.yml"
    rule.write_text(rule_files.rules_file([Group("one", (ALERTS[name],))], RUNBOOKS))
    files = [str(rule)] + ([RECORDING] if "job:" in ALERTS[name].expr else [])
    return write_test_of(folder / f"{name}.test.yml", files, groups)


def write_test_of(path, rule_paths, groups):
    # JSON is YAML.
    path.write_text(json.dumps({"rule_files": rule_paths, "evaluation_interval": "1m",
                                "group_eval_order": GROUPS, "tests": groups}))
    return path


def run_promtool(*arguments):
    """What it complains of; empty if it finds all well."""
    run = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=120, check=False)
    return "" if run.returncode == 0 else run.stdout + run.stderr


class AlertsTest(unittest.TestCase):
    def promtool(self, groups):
        """What promtool says of the groups of each alert; empty if its rule does what is expected."""
        with tempfile.TemporaryDirectory() as folder:
            return run_promtool("test", "rules", *(
                write_test(pathlib.Path(folder), name, of_alert) for name, of_alert in groups.items()))

    def assert_as_expected(self, groups):
        found = self.promtool(groups)
        if found:
            self.fail(found)

    def test_the_rules_are_valid(self):
        self.assertEqual(run_promtool("check", "rules", "--lint-fatal", RECORDING, ALERTING), "")
        self.assertEqual(run_promtool("check", "config", REPO / "deploy" / "prometheus" / "prometheus.yml"), "")

    def test_each_alert_has_a_case_of_both_kinds(self):
        for kind in (Fires, Quiet):
            self.assertEqual({case.alert for case in CASES if isinstance(case, kind)}, set(ALERTS))

    def test_alerts_come_after_their_time_and_not_before(self):
        self.assert_as_expected(by_alert(Fires, of_fires))

    def test_alerts_do_not_come_without_cause(self):
        self.assert_as_expected(by_alert(Quiet, of_quiet))

    def test_a_healthy_server_raises_none(self):
        self.assert_none_of_all(HEALTHY)

    def test_a_server_that_is_started_anew_raises_none(self):
        self.assert_none_of_all({series: started_anew(series, values) for series, values in HEALTHY.items()})

    def test_where_there_is_nothing_only_absence_is_told(self):
        self.assert_none_of_all({}, without="QuotientAbsent")

    def assert_none_of_all(self, series, without=""):
        """Of the rules as they are in the repository."""
        checks = [check(name, minute) for name in ALERTS if name != without for minute in range(0, 180, 5)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "all.yml"
            test = write_test_of(path, [RECORDING, ALERTING], [group("all", series, checks)])
            self.assertEqual(run_promtool("test", "rules", test), "")

    def test_a_wrong_expectation_is_noticed(self):
        fires = next(case for case in CASES if isinstance(case, Fires))
        found = self.promtool({fires.alert: [group("x", fires.series, [check(fires.alert, 60)])]})
        self.assertIn("exp:", found)


if __name__ == "__main__":
    unittest.main()
