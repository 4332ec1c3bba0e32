"""Reads deploy/METRICS.md, which the metric table of the server writes."""

import dataclasses
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[1] / "METRICS.md"
ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.*?) \| (.*) \|$", re.MULTILINE)
LONG_LIST = re.compile(r"^- `(\w+)`: (.*)$", re.MULTILINE)
VALUE = re.compile(r"`([^`]+)`|(empty)")


@dataclasses.dataclass(frozen=True)
class Metric:
    name: str
    type: str
    # The values that each label may have; None if they are known only when the server runs.
    labels: dict
    help: str


def values_of(text):
    return [quoted for quoted, _ in VALUE.findall(text)]  # "empty" is the empty value.


def labels_of(cell, long_lists):
    labels = {}
    for part in filter(None, cell.split("<br>")):
        name, text = re.fullmatch(r"`(\w+)`: (.*)", part).groups()
        if text == "what occurs":
            labels[name] = None
        else:
            labels[name] = long_lists[name] if text == "see below" else values_of(text)
    return labels


def read(page=None):
    """All metrics, by name."""
    text = PAGE.read_text() if page is None else page
    head, _, below = text.partition("## Long lists of label values")
    lists = {name: values_of(values)
             for name, values in LONG_LIST.findall(below.partition("\n## ")[0])}
    return {name: Metric(name, kind, labels_of(cell, lists), help_text)
            for name, kind, cell, help_text in ROW.findall(head)}
