"""A server, and a client that sends it one hostile file after the other."""

import dataclasses
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import harness  # noqa: E402

import external  # noqa: E402
from all_cases import REFUSED, WORKED_ON  # noqa: E402

# Nothing is measured and the search is short: what is looked at is what comes before.
OPTIONS = ("--device", "model:h200", "--budget", "100ms", "--threads", "1")


@dataclasses.dataclass
class Outcome:
    code: int
    error: str  # What the client says.
    report: dict  # Empty if there is none.
    page: str  # The report as HTML, likewise.
    is_same: bool  # Whether the result is the file, byte for byte.
    seconds: float

    def problem(self, expected):
        """What is not as expected; empty if nothing is."""
        if expected.kind == REFUSED:
            is_so = self.code == 3 and f"{expected.reason}: " in self.error and expected.words in self.error
            return "" if is_so else f"not {expected}: {self.summary()}"
        if self.code != 0:
            return f"not {expected}: {self.summary()}"
        if "</html>" not in self.page or "<script>alert" in self.page:
            return "its report is no page of its own"
        is_same = self.is_same or expected.kind == WORKED_ON
        has_words = any(expected.words in note for note in ["", *self.report["notes"]])
        if is_same and has_words and (self.report["passed_through"] or "") == expected.reason:
            return ""
        return f"not {expected}: {self.summary()}"

    def summary(self):
        told = self.error.strip() if self.code else self.report.get("passed_through")
        return f"exit {self.code}, {told}, {self.report.get('notes', '')}"


class Arena:
    """Files of cases in a folder, given to `quotient optimize` of a harness.TestCase or of its like."""

    def __init__(self, folder, quotient):
        self.folder = folder / "models"
        self.folder.mkdir()
        external.prepare(self.folder)
        self.quotient = quotient

    def send(self, case, *mode):
        path, out, report, page = (
            self.folder / name for name in ("bad.onnx", "../out.onnx", "../report.json", "../report.html"))
        content = case.build()
        path.write_bytes(content)
        for made in (out, report, page):
            made.unlink(missing_ok=True)
        begin = time.monotonic()
        result = self.quotient("optimize", path, "-o", out, "--report", report, "--html", page, *OPTIONS, *mode)
        seconds = time.monotonic() - begin
        return Outcome(result.code, result.err, json.loads(report.read_text()) if report.exists() else {},
                       page.read_text() if page.exists() else "", out.exists() and out.read_bytes() == content, seconds)
