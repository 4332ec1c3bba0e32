"""What dashboards and rules consist of. `boards` and `rules` have them as data."""

import dataclasses

# --- Dashboards


@dataclasses.dataclass(frozen=True)
class Query:
    expr: str
    legend: str = ""  # {{label}} stands for the value of a label.
    shows_counters: bool = False  # Whether counts themselves are meant, and not their rates.


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    what: str        # What it shows, and what to think of it.
    queries: tuple
    kind: str = "lines"  # lines, areas and bars (stacked), number, heat, states, table
    unit: str = "short"
    width: int = 12      # Of 24.
    height: int = 8
    # From which values on it is of another colour: ((0.05, "orange"), (0.5, "red")).
    limits: tuple = ()
    base: str = "green"  # The colour below them.
    low: float | None = None
    high: float | None = None
    decimals: int | None = None
    names: tuple = ()    # Words for values: ((0, "down", "red"), (1, "up", "green")).
    # Why it may have no data while jobs run; empty if it has to have some.
    may_be_empty: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    title: str
    panels: tuple


@dataclasses.dataclass(frozen=True)
class Variable:
    name: str
    label: str
    expr: str    # The metric whose values of the label are offered.
    values: str  # The label.


@dataclasses.dataclass(frozen=True)
class Dashboard:
    name: str      # Of the file, and in the uid.
    title: str
    question: str  # What it answers.
    rows: tuple
    variables: tuple = ()  # Beside those that all have.

    def panels(self):
        return [panel for row in self.rows for panel in row.panels]


# --- Rules


@dataclasses.dataclass(frozen=True)
class Recorded:
    name: str
    expr: str
    what: str
    labels: tuple = ("job",)  # Those that its series have.


@dataclasses.dataclass(frozen=True)
class Alert:
    name: str
    expr: str
    hold: str         # How long the expression has to be true: 10m.
    severity: str     # critical: now; warning: in working hours.
    summary: str      # A line, with {{ $labels.instance }} and {{ $value }}.
    description: str  # What it means.
    steps: tuple      # What to do, in order, for the page of runbooks.


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    rules: tuple
