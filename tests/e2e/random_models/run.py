"""Draws models, optimizes them, and compares each with what came back. See README.md."""

import argparse
import collections
import concurrent.futures
import dataclasses
import pathlib
import re
import sys
import tempfile
import warnings

import onnx

import check
import draw
import graph

REDRAWS = 20
SEED_STEP = 1_000_003  # between the attempts of one seed
RULES = pathlib.Path(__file__).resolve().parents[3] / "core/rules"


@dataclasses.dataclass
class Record:
    seed: int
    attempts: int = 1
    kind: str = ""
    message: str = ""
    blocks: list = dataclasses.field(default_factory=list)
    rules: list = dataclasses.field(default_factory=list)
    applied: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)
    differences: list = dataclasses.field(default_factory=list)
    contradictions: list = dataclasses.field(default_factory=list)
    runs: int = 0

    def has_late_journal(self):
        return any(check.JOURNAL_IS_LATE in note for note in self.notes)


def draw_valid(seed):
    """The model of a seed, drawn again until ONNX Runtime takes it; and how often that was."""
    for attempt in range(REDRAWS):
        try:
            drawn = draw.draw(seed + attempt * SEED_STEP)
        except graph.Invalid:
            continue
        if check.loads_and_runs(drawn):
            return drawn, attempt + 1
    raise RuntimeError(f"seed {seed}: no valid model in {REDRAWS} attempts")


def note(record, compared):
    record.differences += map(str, compared.differences)
    record.contradictions += map(str, compared.contradictions)


def examine(seed, keep=None):
    """One seed from drawing to comparison; what differs is kept in the folder `keep`."""
    warnings.simplefilter("ignore")
    drawn, attempts = draw_valid(seed)
    record = Record(seed, attempts, blocks=drawn.blocks)
    with tempfile.TemporaryDirectory() as folder:
        outcome = check.optimize(drawn.model, pathlib.Path(folder))
    record.kind, record.message = outcome.kind, outcome.message
    record.rules, record.applied = outcome.rules(), outcome.applied()
    record.notes = outcome.report.get("notes", [])
    if outcome.model is not None:
        compared = check.check(drawn, outcome.model)
        record.runs = compared.runs
        note(record, compared)
        if seed % 10 == 0:
            note(record, check.check(drawn, outcome.model, optimize=True))
    if keep and (record.differences or outcome.kind in ("refused", "crashed")):
        onnx.save(drawn.model, keep / f"{seed}.onnx")
        if outcome.model is not None:
            onnx.save(outcome.model, keep / f"{seed}.optimized.onnx")
    return record


def rule_names():
    """All names of rules in the sources: those in texts, and site rules."""
    names = set()
    for path in RULES.glob("*.cc"):
        text = path.read_text()
        for block in re.findall(r'R"\((.*?)\)"', text, re.DOTALL):
            names |= set(re.findall(r"^([a-z][a-z0-9-]*):", block, re.MULTILINE))
        names |= set(re.findall(r'domain, "([a-z0-9-]+)"', text))
    return names


def reason(record):
    """Why a model came back untouched, with the numbers and names of the notes taken out."""
    for note in record.notes:
        if "taken as" not in note and "is not in the" not in note:
            return re.sub(r"'[^']*'|\d+", "_", note)[:110]
    return "nothing gains"


def summary(records):
    kinds = collections.Counter(record.kind for record in records)
    steps = collections.Counter(rule for record in records for rule in record.rules)
    applied = collections.Counter(rule for record in records for rule in record.applied)
    attempts = sum(record.attempts for record in records)
    lines = [f"{len(records)} models, {attempts - len(records)} redrawn; "
             + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()),
             f"{sum(record.runs for record in records)} runs compared; "
             f"{sum(bool(record.differences) for record in records)} models differ",
             f"{sum(record.has_late_journal() for record in records)} results without a journal, "
             "which takes too long",
             "ONNX Runtime contradicts itself on "
             f"{sum(bool(record.contradictions) for record in records)} models, in "
             f"{sum(len(record.contradictions) for record in records)} outputs"]
    names = rule_names() | set(applied)
    lines.append(f"{len(names & set(applied))} of {len(names)} rules applied, "
                 f"{len(names & set(steps))} in results")
    lines.append("never applied: " + (", ".join(sorted(names - set(applied))) or "none"))
    lines.append("never in a result: " + (", ".join(sorted(set(applied) - set(steps))) or "none"))
    untouched = collections.Counter(
        reason(record) for record in records if record.kind == "no_improvement")
    lines += [f"untouched {count}: {text}" for text, count in untouched.most_common(25)]
    return "\n".join(lines)


def tell(record):
    for text in record.differences[:3]:
        print(f"seed {record.seed}: {text}\n  blocks {record.blocks}\n  rules {record.rules}")
    if record.contradictions:
        print(f"seed {record.seed}: ONNX Runtime contradicts itself {len(record.contradictions)} "
              f"times, first: {record.contradictions[0]}")
    if record.kind in ("refused", "crashed"):
        print(f"seed {record.seed}: {record.kind}: {record.message}\n  blocks {record.blocks}")
    sys.stdout.flush()


def examine_all(seeds, jobs, keep=None):
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        records = pool.map(examine, seeds, [keep] * len(seeds), chunksize=4)
        for count, record in enumerate(records, 1):
            tell(record)
            if count % 100 == 0:
                print(f"{count} of {len(seeds)}", flush=True)
            yield record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models that differ")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.count)
    records = list(examine_all(seeds, arguments.jobs, arguments.keep))
    print(summary(records))
    failed = [r.seed for r in records if r.differences or r.kind in ("refused", "crashed")]
    print("seeds that failed:", failed or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
