"""Asks a Prometheus over HTTP."""

import json
import urllib.parse
import urllib.request


class Api:
    def __init__(self, url):
        self.url = url.rstrip("/")

    def get(self, path, **parameters):
        """The data of an answer. Errors are exceptions, and so are warnings."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=30) as answer:
            told = json.load(answer)
        if told["status"] != "success" or told.get("warnings"):
            raise RuntimeError(f"{parameters}: {told.get('error', '')} {told.get('warnings', '')}")
        return told["data"]

    def now(self, expr):
        """(labels, value) of each series."""
        found = self.get("query", query=expr)["result"]
        return [(series["metric"], float(series["value"][1])) for series in found]

    def over_time(self, expr, start, end, step):
        """(labels, [(time, value), ...]) of each series."""
        found = self.get("query_range", query=expr, start=start, end=end, step=step)["result"]
        return [(series["metric"], [(float(time), float(value)) for time, value in series["values"]])
                for series in found]


def filled_in(expr, rate_seconds, service):
    """A query of a dashboard as Grafana asks it where all servers of a service are chosen."""
    expr = expr.replace('"$job"', f'"{service}"')
    for name in ("$instance", "$method"):
        expr = expr.replace(f'"{name}"', '".+"')
    return expr.replace("$__rate_interval", f"{rate_seconds}s")
