"""Stands for the program helm where a story calls it (deploy/guide/stories): Helm itself as a library, behind those
options of `helm lint` and `helm template` that the stories use. Others are refused.

    helm.py lint CHART --strict [--values FILE]...
    helm.py template NAME CHART [--namespace NAME] [--values FILE]... [--set KEY=VALUE]... [--show-only TEMPLATE]
"""

import argparse
import pathlib
import sys

import helm_python

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"))

import render


def parser():
    parser = argparse.ArgumentParser(prog="helm", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    lint = commands.add_parser("lint", allow_abbrev=False)
    lint.add_argument("--strict", action="store_true", required=True)
    template = commands.add_parser("template", allow_abbrev=False)
    template.add_argument("name")
    template.add_argument("--namespace", default="default")
    template.add_argument("--set", action="append", default=[])
    template.add_argument("--show-only")
    for command in (lint, template):
        command.add_argument("chart")
        command.add_argument("--values", action="append", default=[])
    return parser


def lint(told):
    report = helm_python.lint(told.chart, render.values_of(told.values), strict=told.strict)
    for message in report["messages"]:
        print(f"[{message['severity']}] {message['error']}")
    return 1 if report["errors"] else 0


def template(told):
    values = render.values_of(told.values)
    for text in told.set:
        values = render.merged(values, helm_python.parse_set_string(text))
    with helm_python.Chart.load(told.chart) as chart:
        chart.validate_schema(values)
        texts = chart.render(values, name=told.name, namespace=told.namespace)
    for name, text in sorted(texts.items()):
        if text.strip() and name.endswith(".yaml") and told.show_only in (None, name.split("/", 1)[1]):
            print(f"---\n# Source: {name}\n{text.strip()}")
    return 0


def main():
    told = parser().parse_args()
    try:
        return {"lint": lint, "template": template}[told.command](told)
    except helm_python.HelmError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
