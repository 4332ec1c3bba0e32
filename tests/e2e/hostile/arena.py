"""A server, and a client that sends it one hostile file after the other."""

import dataclasses
import json

import external
from all_cases import REFUSED, UNTOUCHED

# Nothing is measured and the search is short: what is looked at is what comes before.
OPTIONS = ("--device", "model:h200", "--budget", "100ms", "--threads", "1")


@dataclasses.dataclass
class Outcome:
    code: int
    told: str  # What the client prints for people.
    error: str  # And what it complains about.
    content: bytes  # The file.
    result: bytes | None  # And what became of it; None if nothing did.
    report: dict  # Empty if there is none.
    page: str  # The report as HTML, likewise.

    def problem(self, expected):
        """What is not as expected; empty if nothing is."""
        is_so = self.is_refused(expected) if expected.kind == REFUSED else self.is_returned(expected)
        if not is_so:
            return f"not {expected}: {self.summary()}"
        if expected.kind != REFUSED and ("</html>" not in self.page or "<script>alert" in self.page):
            return "its report is no page, or one with a script of the file's"
        return ""

    def is_refused(self, expected):
        return (self.code == 3 and self.result is None and f"{expected.reason}: " in self.error
                and expected.words in self.error)

    def is_returned(self, expected):
        if self.code != 0 or (self.report["passed_through"] or "") != expected.reason:
            return False
        if not any(expected.words in note for note in ["", *self.report["notes"]]):
            return False
        is_same = self.result == self.content
        if expected.kind == UNTOUCHED:
            return is_same and expected.words in self.told
        return is_same or self.report["outcome"] != "no_improvement"

    def summary(self):
        told = self.error.strip() if self.code else self.report.get("passed_through")
        return f"exit {self.code}, {told}, {self.report.get('notes', '')}"


class Arena:
    """Files of cases in a folder. `quotient` runs the client, as harness.TestCase.quotient does."""

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
        ended = self.quotient("optimize", path, "-o", out, "--report", report, "--html", page, *OPTIONS, *mode)
        return Outcome(ended.code, ended.out, ended.err, content, out.read_bytes() if out.exists() else None,
                       json.loads(report.read_text()) if report.exists() else {},
                       page.read_text() if page.exists() else "")
