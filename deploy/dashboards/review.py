"""Compares all queries with the metric table: metrics, labels and values that no server has are mistakes."""

import re

import blame
import boards
import promql
import rules

# What Prometheus adds to each series, and its own metric.
TARGET_LABELS = {"job", "instance"}
OWN = {"up": TARGET_LABELS}
OF_COUNTERS = {"rate", "increase", "changes", "resets"}
OF_GAUGES = {"delta", "deriv", "predict_linear", "changes", "avg_over_time", "max_over_time", "min_over_time"}
HISTOGRAM_PARTS = ("_bucket", "_sum", "_count")
LEGEND = re.compile(r"\{\{(\w+)\}\}")


class Series:
    """What a name in a query stands for."""

    def __init__(self, metric, kind, labels):
        self.metric = metric  # The row of the table; None for what is not in it.
        self.kind = kind      # counter or gauge
        self.labels = labels  # The values of each label; None for any.


def series_of(name, metrics):
    """None if there is no such series."""
    if name in OWN:
        return Series(None, "gauge", dict.fromkeys(OWN[name]))
    for rule in rules.RECORDED_RULES:
        if rule.name == name:
            return Series(None, "gauge", dict.fromkeys(rule.labels))
    for part in HISTOGRAM_PARTS:
        metric = metrics.get(name.removesuffix(part))
        if name.endswith(part) and metric is not None and metric.type == "histogram":
            labels = dict.fromkeys(TARGET_LABELS) | metric.labels
            return Series(metric, "counter", labels | ({"le": None} if part == "_bucket" else {}))
    metric = metrics.get(name)
    if metric is None or metric.type == "histogram":
        return None
    return Series(metric, metric.type, dict.fromkeys(TARGET_LABELS) | metric.labels)


def wrong_matchers(selector, labels):
    for matcher in selector.matchers:
        if matcher.label not in labels:
            yield f"{selector.name} has no label {matcher.label}"
            continue
        values = labels[matcher.label]
        # A variable of the dashboard stands for values that there are.
        if values is None or "$" in matcher.value:
            continue
        wanted = [matcher.value] if matcher.op in ("=", "!=") else matcher.value.split("|")
        for value in wanted:
            if matcher.op in ("=", "!="):
                found = value in values
            else:
                found = any(re.fullmatch(value, known) for known in values)
            if not found:
                yield f"{selector.name} has no {matcher.label} '{value}'"


def wrong_use(selector, kind):
    if kind == "counter" and selector.function not in OF_COUNTERS:
        yield f"{selector.name} is a counter: take its rate"
    if kind == "gauge" and selector.has_range and selector.function not in OF_GAUGES:
        yield f"{selector.name} is a gauge, of which {selector.function} means nothing"


def query_mistakes(expr, metrics, shows_counters=False):
    """What is wrong with a query, and which rows of the table it uses."""
    found, used, known = [], set(), set()
    for selector in promql.selectors(expr):
        series = series_of(selector.name, metrics)
        if series is None:
            found.append(f"there is no metric {selector.name}")
            continue
        known |= set(series.labels)
        if series.metric is not None:
            used.add(series.metric.name)
        found += wrong_matchers(selector, series.labels)
        if not shows_counters:
            found += wrong_use(selector, series.kind)
    for labels in promql.label_lists(expr):
        found += [f"no metric of the query has the label {label}"
                  for label in labels.labels if label not in known]
    if "histogram_quantile" in expr and not any("le" in labels.labels for labels in promql.label_lists(expr)):
        found.append("histogram_quantile needs le")
    return found, used


def labels_of_result(expr, metrics):
    """The labels that its series may have: those that the first aggregation keeps, else those of its metrics."""
    for labels in promql.label_lists(expr):
        if labels.keyword == "by":
            return set(labels.labels) - ({"le"} if "histogram_quantile" in expr else set())
    if any(selector.function in promql.AGGREGATIONS for selector in promql.selectors(expr)):
        return set()
    return {label for selector in promql.selectors(expr)
            if (series := series_of(selector.name, metrics)) is not None for label in series.labels}


def panel_mistakes(panel, metrics):
    found, used = [], set()
    for query in panel.queries:
        wrong, names = query_mistakes(query.expr, metrics, query.shows_counters)
        found += wrong
        used |= names
        lost = set(LEGEND.findall(query.legend)) - labels_of_result(query.expr, metrics)
        found += [f"the legend names {label}, which the query does not keep" for label in sorted(lost)]
        if panel.kind not in ("number", "table") and len(panel.queries) > 1 and not query.legend:
            found.append("lines without a legend cannot be told apart")
    return found, used


def board_mistakes(metrics):
    shown = set()
    for board in boards.ALL:
        titles = [panel.title for panel in board.panels()]
        for title in sorted({title for title in titles if titles.count(title) > 1}):
            yield f"{board.name}: two panels are called {title}"
        for panel in board.panels():
            found, used = panel_mistakes(panel, metrics)
            shown |= used
            yield from (f"{board.name}, {panel.title}: {mistake}" for mistake in found)
        for variable in board.variables:
            yield from (f"{board.name}, ${variable.name}: {mistake}"
                        for mistake in query_mistakes(variable.expr, metrics, shows_counters=True)[0])
    for name in metrics:
        if name not in shown | set(boards.LEFT_OUT):
            yield f"no panel shows {name}; add one, or put it into boards.LEFT_OUT with the reason"
    for name in boards.LEFT_OUT:
        if name in shown or name not in metrics:
            yield f"boards.LEFT_OUT has {name}, which is {'shown' if name in shown else 'no metric'}"


def rule_mistakes(metrics):
    names = [rule.name for rule in (*rules.ALERTS, *rules.RECORDED_RULES)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two rules are called {name}"
    for rule in (*rules.ALERTS, *rules.RECORDED_RULES):
        # What a process has counted tells something together with its age.
        knows_age = "process_start_time_seconds" in rule.expr
        yield from (f"{rule.name}: {mistake}"
                    for mistake in query_mistakes(rule.expr, metrics, shows_counters=knows_age)[0])
    for rule in rules.RECORDED_RULES:
        if labels_of_result(rule.expr, metrics) != set(rule.labels):
            yield f"{rule.name}: its series do not have the labels {', '.join(rule.labels)}"
        prefix = "_".join(rule.labels) + ":"
        if not rule.name.startswith(prefix):
            yield f"{rule.name}: should begin with {prefix}"
    for alert in rules.ALERTS:
        if not alert.steps:
            yield f"{alert.name}: no runbook"
        if alert.severity not in ("critical", "warning"):
            yield f"{alert.name}: severity {alert.severity}"


def blame_mistakes(metrics):
    """Each reason of a failure is in one list, so that a new one is thought about."""
    lists = (blame.SERVER_REASONS, blame.TIME_REASONS, blame.USER_REASONS)
    listed = [reason for reasons in lists for reason in reasons]
    known = metrics["quotient_jobs_finished_total"].labels["reason"]
    for reason in known:
        if listed.count(reason) != 1:
            yield f"blame.py: '{reason}' is in {listed.count(reason)} lists"
    for reason in listed:
        if reason not in known:
            yield f"blame.py: '{reason}' is no reason"


def mistakes(metrics):
    return [*board_mistakes(metrics), *rule_mistakes(metrics), *blame_mistakes(metrics)]
