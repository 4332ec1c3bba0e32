"""Writes rules as the files that Prometheus reads, and the page of runbooks."""

import json

from model import Recorded

HEAD = "# Written by deploy/dashboards/generate.py, where it can be changed.\n"

PAGE_HEAD = """# Runbooks

What each alert of `alerts.yml` means and what to do. Written by `deploy/dashboards/generate.py`.

*critical* wants somebody now: the service gives nothing, or what it has is in danger. *warning* can wait for working
hours. An alert comes when its condition has been true for the time after "for". Names of panels are those of the
[dashboards](../dashboards/README.md), with the dashboard in parentheses.
"""


def quoted(text):
    return json.dumps(text, ensure_ascii=False)  # JSON's strings are YAML's, too.


def recorded_lines(rule):
    return [f"      # {rule.what}", f"      - record: {rule.name}", "        expr: >-", f"          {rule.expr}"]


def alert_lines(alert, runbooks):
    return [f"      - alert: {alert.name}",
            "        expr: >-",
            f"          {alert.expr}",
            f"        for: {alert.hold}",
            "        labels:",
            f"          severity: {alert.severity}",
            "        annotations:",
            f"          summary: {quoted(alert.summary)}",
            f"          description: {quoted(alert.description)}",
            f"          runbook_url: {quoted(runbooks + '#' + alert.name.lower())}"]


def rules_file(groups, runbooks=""):
    lines = ["groups:"]
    for group in groups:
        lines += [f"  - name: {group.name}", "    rules:"]
        for rule in group.rules:
            lines += recorded_lines(rule) if isinstance(rule, Recorded) else alert_lines(rule, runbooks)
    return HEAD + "\n".join(lines) + "\n"


def runbooks_page(groups):
    parts = [PAGE_HEAD]
    for group in groups:
        for alert in group.rules:
            steps = "\n".join(f"{number}. {step}" for number, step in enumerate(alert.steps, 1))
            parts.append(f"## {alert.name}\n\n{alert.description}\n\n{steps}\n\n"
                         f"{alert.severity}, for {alert.hold}: `{alert.expr}`\n")
    return "\n".join(parts)
