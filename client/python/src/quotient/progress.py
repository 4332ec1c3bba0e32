"""What a job tells while it runs, and the bar that shows it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from quotient._text import counted, printable
from quotient.v1 import optimizer_pb2

PHASES = ("read", "baseline", "search", "package", "verify", "measure")


@dataclass(frozen=True)
class Progress:
    """A change of a job's state, with its reason, or a report of the running job, with its phase. As text it
    is the line that `quotient watch` prints."""

    state: str  # "QUEUED", "RUNNING", ...
    reason: str = ""  # Of a change of state: "submitted", "claimed", ...
    phase: str = ""  # One of PHASES; empty for a change of state.
    elapsed: float = 0.0  # Seconds.
    fraction: float = 0.0  # Estimate of the share of the phase that is done.
    original_cost_us: float = 0.0  # Predicted; 0 if it is not known yet.
    enodes: int = 0
    best_share: float = 0.0  # In the search, what is left of the original's cost by e-nodes; 0 if not known.
    detail: str = ""

    def __str__(self) -> str:
        if not self.phase:
            return printable(f"{self.state} ({self.reason})")
        line = f"{self.phase:<9}{self.elapsed:6.1f} s"
        if self.enodes > 0:
            line += f"   {counted(self.enodes, 'e-node')}"
        if self.best_share > 0:
            line += f"   {gain_text(self)}"
        return printable(line + (f"   {self.detail}" if self.detail else ""))


def gain_text(progress: Progress) -> str:
    return f"gain by e-nodes {100 * (1 - progress.best_share):.1f} %" if progress.best_share > 0 else ""


def state_name(state: int) -> str:
    return optimizer_pb2.JobState.Name(state).removeprefix("JOB_STATE_")


def of_transition(transition: optimizer_pb2.Transition) -> Progress:
    return Progress(state_name(transition.to), reason=transition.reason)


def of_progress(progress: optimizer_pb2.Progress) -> Progress:
    return Progress(
        "RUNNING", phase=progress.phase, elapsed=progress.elapsed.ToTimedelta().total_seconds(),
        fraction=progress.fraction, original_cost_us=progress.original_cost_us, enodes=progress.enodes,
        best_share=progress.best_share, detail=progress.detail)


class Bar:
    """A progress bar by tqdm, which is a widget in notebooks; shows nothing if tqdm is not installed.

    `wanted` is None for a bar in terminals and notebooks only."""

    def __init__(self, name: str, wanted: bool | None) -> None:
        self._bar: Any = None
        if wanted is None:
            wanted = sys.stderr.isatty() or _in_notebook()
        if not wanted:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=len(PHASES), desc=name, bar_format="{desc} |{bar}| {elapsed}{postfix}")

    def show(self, progress: Progress) -> None:
        if self._bar is None:
            return
        if progress.phase in PHASES:
            self._bar.n = PHASES.index(progress.phase) + min(max(progress.fraction, 0.0), 1.0)
        self._bar.set_description_str(printable(progress.phase or progress.state.lower()), refresh=False)
        self._bar.set_postfix_str(gain_text(progress), refresh=False)
        self._bar.refresh()

    def close(self, ended: bool) -> None:
        """`ended`: whether the job has brought a result."""
        if self._bar is None:
            return
        if ended:
            self._bar.n = self._bar.total
            self._bar.set_description_str("done", refresh=False)
            self._bar.refresh()
        self._bar.close()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config
