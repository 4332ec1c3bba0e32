#!/usr/bin/env python3
"""Writes the dashboards, the rules and the page of runbooks.

    deploy/dashboards/generate.py [--check] [--out DIR] [--runbooks URL]

--check    writes nothing; names the files that are not current, and fails if there are any
--out      instead of deploy: DIR/dashboards/grafana and DIR/prometheus
--runbooks where alerts say that their runbook is; default: the page's path in the repository
"""

import argparse
import pathlib
import sys

import boards
import grafana_json
import metric_page
import review
import rule_files
import rules

DEPLOY = pathlib.Path(__file__).resolve().parents[1]
RUNBOOKS = "deploy/prometheus/RUNBOOKS.md"


def files(runbooks=RUNBOOKS):
    """All files, by their paths below deploy."""
    made = {f"dashboards/grafana/{board.name}.json": grafana_json.written(board) for board in boards.ALL}
    made["prometheus/recording.yml"] = rule_files.rules_file(rules.RECORDED)
    made["prometheus/alerts.yml"] = rule_files.rules_file(rules.ALERTING, runbooks)
    made["prometheus/RUNBOOKS.md"] = rule_files.runbooks_page(rules.ALERTING)
    return made


def stale(folder, made):
    """Files that are missing or other than they should be, and dashboards that nothing writes."""
    found = [name for name, text in made.items()
             if not (folder / name).is_file() or (folder / name).read_text() != text]
    grafana = folder / "dashboards" / "grafana"
    return found + [str(path.relative_to(folder)) for path in grafana.glob("*.json")
                    if str(path.relative_to(folder)) not in made]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=DEPLOY)
    parser.add_argument("--runbooks", default=RUNBOOKS)
    arguments = parser.parse_args()
    mistakes = review.mistakes(metric_page.read())
    if mistakes:
        print("\n".join(mistakes), file=sys.stderr)
        return 1
    made = files(arguments.runbooks)
    if arguments.check:
        found = stale(arguments.out, made)
        for name in found:
            print(f"{name}: not current; run deploy/dashboards/generate.py", file=sys.stderr)
        return 1 if found else 0
    for name, text in made.items():
        path = arguments.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
