"""The report of a job: its main figures as attributes, everything as JSON, and the server's page."""

from __future__ import annotations

import html
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

from quotient._text import counted, printable

# A notebook keeps what it shows, so it gets a larger page only as a table.
_MOST_PAGE_BYTES = 1 << 20
# What gains less of the whole is not listed, and of many rules the first ones, as on the command line.
_LEAST_PERCENT = 0.05
_MOST_RULES = 4
# What made a result be taken if runs alone do not make a gain sure (core/optimize/DECISION.md).
_GROUNDS = {
    "cpu_time": "by the CPU time of runs on one thread, since other work disturbed the machine",
    "measured_likely": "likely by the measurement, but not surely",
    "subset_of_work": "it does only a part of the work",
    "predicted_and_measured": "by prediction and measurement together",
    "predicted": "by prediction; nothing was run",
}


class Report:
    """`print(report)` shows the first part of the table that `quotient optimize` prints, and notebooks
    show the page that `quotient optimize --html` writes."""

    def __init__(self, json_text: str, page: str) -> None:
        self.json = json_text
        self.html = page
        self.data: dict[str, Any] = json.loads(json_text)

    @property
    def model_name(self) -> str:
        return self.data["model"]

    @property
    def improved(self) -> bool:
        return self.data["outcome"] == "improved"

    @property
    def device(self) -> str:
        return self.data["device"]["name"]

    @property
    def engine_version(self) -> str:
        return self.data["engine"]

    @property
    def nodes(self) -> tuple[int, int]:
        """Of the original and of the result."""
        return self.data["original"]["nodes"], self.data["optimized"]["nodes"]

    @property
    def predicted_us(self) -> tuple[float, float]:
        """The sum of all kernels of the original and of the result, in microseconds."""
        return self.data["original"]["predicted_us"], self.data["optimized"]["predicted_us"]

    @property
    def measured_us(self) -> tuple[float | None, float | None]:
        """The medians of runs of the original and of the result. None where nothing was run."""
        return self.data["original"]["measured_us"]["median"], self.data["optimized"]["measured_us"]["median"]

    @property
    def predicted_gain_percent(self) -> float | None:
        return self.data["predicted_speedup_percent"]

    @property
    def measured_gain_percent(self) -> float | None:
        """By runs in turns. None where nothing was run, or where other work disturbed the machine too much."""
        return self.data["speedup_percent"]

    @property
    def measured_gain_interval(self) -> tuple[float, float] | None:
        """Where the measured gain is, with 99 % confidence."""
        interval = self.data["speedup_interval_percent"]
        return (interval["low"], interval["high"]) if interval is not None else None

    @property
    def notes(self) -> list[str]:
        return self.data["notes"]

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes the page if the name ends in ".html", else the JSON."""
        path = pathlib.Path(path)
        path.write_text(self.html if path.suffix == ".html" else self.json, encoding="utf-8")
        return path

    def __repr__(self) -> str:
        return f"<quotient.Report {self.headline()}>"

    def __str__(self) -> str:
        lines = [self.headline(), *self._place(), ""]
        if not self.data["passed_through"]:
            lines += [*self._figures(), *self._gains()]
        lines += [f"  note: {note}".replace("\n", " ") for note in self.notes]
        return printable("\n".join(line.rstrip() for line in lines))

    def headline(self) -> str:
        """What came out, in one line."""
        taken = next((each for each in self.data["considered"] if each["taken"]), None)
        grounds = _GROUNDS.get(taken["grounds"]) if taken and self.improved else None
        outcome = self.data["outcome"].replace("_", " ")
        return printable(f"{self.model_name}: {outcome} on {self.device}" + (f" ({grounds})" if grounds else ""))

    def _place(self) -> Iterator[str]:
        device = self.data["device"]
        if self._was_run():
            what = " on ".join(filter(None, (device["library"], device["hardware"])))
            threads = counted(device["threads"], "thread")
            yield f"Measured on: {what}, {threads}, by Quotient {self.engine_version}"

    def _was_run(self) -> bool:
        return self.data["original"]["measured_us"]["runs"] > 0

    def _figures(self) -> Iterator[str]:
        before, after = self.data["original"], self.data["optimized"]
        yield _row("", "original", "optimized", "gain")
        yield _row("nodes", before["nodes"], after["nodes"], "")
        yield _row("predicted", _predicted(before), _predicted(after), _percent(self.predicted_gain_percent))
        if self._was_run():
            yield _row("measured", _measured(before), _measured(after), _percent(self.measured_gain_percent))
        if self.measured_gain_interval is not None:
            low, high = self.measured_gain_interval
            yield _row("  between*", "", "", f"{low:.1f} to {high:.1f} %")
            yield "  * with 99 % confidence"
        if before["kernels"]["estimated"] or after["kernels"]["estimated"]:
            yield "  ~ estimated and not measured, at least in part"
        recorded = self.data["device"]["recorded"]
        if recorded is not None:
            yield f"  Nothing was measured now: costs were recorded on {recorded['device']}, {recorded['time']}."
        elif not self.data["measured"]:
            yield f"  Nothing was measured: every cost comes from the analytic model {self.device}."

    def _gains(self) -> Iterator[str]:
        gains = [gain for gain in self.data["gains"]["by_rules"] if abs(gain["saved_percent"]) >= _LEAST_PERCENT]
        if gains:
            yield ""
            yield f"  {'saved':>12} {'of all':>8}  predicted, by rules"
        for gain in gains:
            saved = _mark(gain["estimated"]) + _time(gain["saved_us"])
            yield f"  {saved:>12} {_percent(gain['saved_percent']):>8}  {_rules(gain)}"

    def _repr_html_(self) -> str:
        if len(self.html) > _MOST_PAGE_BYTES:
            return f"<pre>{html.escape(str(self))}</pre>"
        # The sandbox keeps the page, which has no scripts, from everything outside of its frame.
        return (f'<iframe sandbox="" style="width: 100%; height: 40em; border: 0" '
                f'srcdoc="{html.escape(self.html)}"></iframe>')


def _row(label: str, before: object, after: object, gain: str) -> str:
    return f"  {label:<12} {before:>14} {after:>14} {gain:>10}"


def _time(us: float) -> str:
    return f"{us / 1e3:.2f} ms" if abs(us) >= 1e4 else f"{us:.1f} us"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1f} %"


def _mark(estimated: object) -> str:
    return "~" if estimated else ""


def _predicted(graph: dict[str, Any]) -> str:
    return _mark(graph["kernels"]["estimated"]) + _time(graph["predicted_us"])


def _measured(graph: dict[str, Any]) -> str:
    measured = graph["measured_us"]
    if measured["runs"] == 0:
        return "not run"
    return "disturbed" if measured["disturbed"] else _time(measured["median"])


def _rules(gain: dict[str, Any]) -> str:
    rules = gain["rules"]
    names = ", ".join(rules[:_MOST_RULES]) or "(no rule: constants folded, equal parts merged)"
    more = f" and {len(rules) - _MOST_RULES} more" if len(rules) > _MOST_RULES else ""
    return f"{names}{more}: " + counted(sum(len(region["sites"]) for region in gain["regions"]), "place")
