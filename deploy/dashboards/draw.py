#!/usr/bin/env python3
"""Draws the dashboards from the data of a Prometheus, for a look where there is no Grafana.

    deploy/dashboards/draw.py URL --out DIR [--minutes N] [--scrape-seconds N]

URL is that of Prometheus, such as http://localhost:9090, which scrapes every --scrape-seconds (15). Writes DIR/NAME.svg
for each dashboard.
"""

import argparse
import pathlib
import re
import time

import boards
import grafana_json
import pictures
from prometheus_api import Api, filled_in

POINTS = 60


def name_of(query, labels):
    if not query.legend:
        return ", ".join(f"{label} {value}" for label, value in sorted(labels.items()) if label != "__name__")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), query.legend)


def services(api):
    """As Grafana's variable offers them, as a regular expression."""
    return "|".join(sorted(labels["job"] for labels, _ in api.now("group by (job) (quotient_ready)")))


def series_of(panel, api, service, start, end, scrape_seconds):
    """(name, values) of each line of the panel."""
    step = max(round((end - start) / POINTS), 1)
    # As $__rate_interval: a rise between two scrapes is within the interval of one point at least.
    rate_seconds = max(step + scrape_seconds, 4 * scrape_seconds)
    found = []
    for place, query in enumerate(panel.queries):
        expr = filled_in(grafana_json.target(panel, place, query)["expr"], rate_seconds, service)
        for labels, values in api.over_time(expr, start, end, step):
            found.append((name_of(query, labels), values))
    return sorted(found, key=lambda one: one[0])


def draw(board, api, start, end, scrape_seconds):
    service = services(api)
    data = {panel.title: series_of(panel, api, service, start, end, scrape_seconds)
            for panel in board.panels()}
    return pictures.svg(board, data, start, end)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--scrape-seconds", type=int, default=15)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    end = time.time()
    for board in boards.ALL:
        picture = draw(board, Api(arguments.url), end - 60 * arguments.minutes, end, arguments.scrape_seconds)
        (arguments.out / f"{board.name}.svg").write_text(picture)


if __name__ == "__main__":
    main()
