"""A drawn model through Quotient, and what came back beside it in ONNX Runtime."""

import dataclasses
import json
import os
import pathlib
import resource
import subprocess

import onnx

import compare
import feeds
from graph import BINDINGS

BIN = pathlib.Path(os.environ.get("QUOTIENT_BIN_DIR", "build/dev/bin"))
ARGUMENTS = ("--local", "--device", "model:h200", "--simulations", "50", "--budget", "5s",
             "--threads", "1")
# The program's own time, since the machine may be busy with much else; and when even that says nothing.
CPU_SECONDS = 120
TIMEOUT_SECONDS = 900
# The only reason for which a result may have no journal: a small model can have a large e-graph.
JOURNAL_IS_LATE = "no journal of the result: it takes "


@dataclasses.dataclass
class Difference:
    output: str
    binding: str
    style: str
    text: str
    feed: dict

    def __str__(self):
        return f"output {self.output!r}, {self.binding}, {self.style} inputs: {self.text}"


@dataclasses.dataclass
class Comparison:
    """What all feeds of a model say."""
    differences: list = dataclasses.field(default_factory=list)
    # Differences that are ONNX Runtime's own: see Pair.
    contradictions: list = dataclasses.field(default_factory=list)
    runs: int = 0  # that the original took


@dataclasses.dataclass
class Outcome:
    kind: str  # improved, no_improvement, refused, crashed
    message: str = ""
    report: dict = dataclasses.field(default_factory=dict)
    model: onnx.ModelProto | None = None  # what came back, if it is another model

    def rules(self):
        return sorted({step["rule"] for step in self.report.get("journal", []) if "rule" in step})

    def applied(self):
        return {rule["rule"]: rule["applied"] for rule in self.report.get("rules", [])
                if rule["applied"] > 0}


def limit_cpu():
    """In a child."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def run_quotient(folder, *arguments):
    return subprocess.run([BIN / "quotient", *arguments], capture_output=True, text=True,
                          timeout=TIMEOUT_SECONDS, check=False, preexec_fn=limit_cpu,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder)})


def replay(source, journal, result, folder):
    """What is wrong with the journal of a result, or nothing: it must make the same file again."""
    again = folder / "again.onnx"
    done = run_quotient(folder, "replay", source, journal, "-o", again)
    if done.returncode != 0:
        return f"replay exit {done.returncode}: {done.stderr.strip()[-600:]}"
    return "" if again.read_bytes() == result.read_bytes() else "replay makes another file"


def optimize(model, folder, arguments=ARGUMENTS):
    """Runs `quotient optimize` on a model in a folder of its own, and replays the journal of what came
    back."""
    source, result, report, journal = (
        folder / name for name in ("in.onnx", "out.onnx", "report.json", "out.journal"))
    data = model.SerializeToString()
    source.write_bytes(data)
    for path in (result, report, journal):
        path.unlink(missing_ok=True)
    try:
        done = run_quotient(folder, "optimize", source, "-o", result, "--report", report,
                            "--journal", journal, *arguments)
    except subprocess.TimeoutExpired:
        return Outcome("crashed", f"no end within {TIMEOUT_SECONDS} s")
    told = json.loads(report.read_text()) if report.exists() else {}
    is_late = any(JOURNAL_IS_LATE in note for note in told.get("notes", []))
    if done.returncode != 0 and not is_late:
        return Outcome("refused" if done.returncode == 3 else "crashed",
                       f"exit {done.returncode}: {done.stderr.strip()[-600:]}")
    wrong = "" if is_late else replay(source, journal, result, folder)
    if wrong:
        return Outcome("crashed", wrong)
    out = result.read_bytes()
    return Outcome(told["outcome"], report=told,
                   model=None if out == data else onnx.ModelProto.FromString(out))


class Pair:
    """Original and optimized model in ONNX Runtime.

    ONNX Runtime believes the sizes that a file declares, and its optimizations compute constants
    from them: where such a size is not true at a binding, the original itself comes out wrong. So
    where the two models differ there is a second opinion, of both with those optimizations off and
    without any such declaration. If they are equal then, and the original says not what it said
    before, then ONNX Runtime contradicts itself. These are listed apart."""

    def __init__(self, original, optimized, precision, has_rounding_trick, optimize=False):
        self.original, self.optimized = original, optimized
        self.precision = precision
        self.has_rounding_trick = has_rounding_trick
        self.sessions = [compare.open_session(m, optimize) for m in (original, optimized)]
        # Declared sizes that are not true make ONNX Runtime reuse buffers that do not fit.
        self.without_reuse = [compare.open_session(m, optimize, reuse=False)
                              for m in (original, optimized)]
        self.contradictions = []

    def run(self, which, feed):
        try:
            return self.sessions[which].run(None, feed)
        except Exception:  # ONNX Runtime has no common base class
            return self.without_reuse[which].run(None, feed)

    def differences(self, feed, binding, style):
        """None if the original itself does not take the feed."""
        try:
            expected = self.run(0, feed)
        except Exception:
            return None
        names = [output.name for output in self.sessions[0].get_outputs()]
        try:
            actual = self.run(1, feed)
        except Exception as error:
            return [Difference(", ".join(names), binding, style, f"does not run: {error}", feed)]
        noise = compare.Noise(self.original, feed, self.precision, not self.has_rounding_trick)
        found = []
        for index, (name, a, b) in enumerate(zip(names, expected, actual)):
            text = compare.difference(a, b, self.precision, lambda i=index: noise.outputs(i))
            if text:
                blames_runtime = self.contradicts_itself(feed, index, a)
                (self.contradictions if blames_runtime else found).append(
                    Difference(name, binding, style, text, feed))
        return found

    def contradicts_itself(self, feed, index, expected):
        """Whether the original without its declared sizes, and without ONNX Runtime's optimizations,
        yields not what it yielded with them, but what the optimized model yields without both. With
        them, either model may be run as one of the sizes that it declares."""
        bare = [compare.undeclared(model) for model in (self.original, self.optimized)]
        try:
            second, actual = (compare.open_session(model, reuse=False).run(None, feed)[index]
                              for model in bare)
        except Exception:  # ONNX Runtime has no common base class
            return False
        noise = compare.Noise(bare[0], feed, self.precision, not self.has_rounding_trick)

        def differs(other):
            return compare.difference(second, other, self.precision, lambda: noise.outputs(index))
        return not differs(actual) and bool(differs(expected))


def runs(drawn):
    """Binding and style in words, and the feed: five bindings with two styles each, one that
    gives each dim a size of its own, one that overrides initializers."""
    for binding in range(BINDINGS):
        sizes = drawn.sizes(binding)
        for style in ("normal" if binding % 2 else "plain", "wide"):
            yield f"binding {sizes}", style, feeds.draw(drawn.seed, drawn.inputs, sizes, style)
    if drawn.overridable:
        feed = feeds.draw(drawn.seed, drawn.inputs, drawn.sizes(0), "normal")
        for value in drawn.overridable:
            if value.is_float:
                feed[value.name] = value.arrays[0] + value.arrays[0].dtype.type(0.25)
        yield f"binding {drawn.sizes(0)} and other initializers", "normal", feed
    entries, own = feeds.unlinked(drawn.inputs, drawn.sizes(1))
    yield f"unlinked {own}", "normal", feeds.draw(drawn.seed, entries, own, "normal")


def check(drawn, optimized, optimize=False):
    """A Comparison. With ONNX Runtime's own optimizations some originals do not load: there is
    nothing to compare then."""
    try:
        compare.open_session(drawn.model, optimize)
    except Exception:
        return Comparison()
    try:
        pair = Pair(drawn.model, optimized, drawn.precision, drawn.has_rounding_trick, optimize)
    except Exception as error:
        return Comparison([Difference("", "", "", f"does not load: {error}", {})])
    compared = Comparison(contradictions=pair.contradictions)
    for binding, style, feed in runs(drawn):
        differences = pair.differences(feed, binding, style)
        if differences is not None:
            compared.runs += 1
            compared.differences.extend(differences)
    return compared


def loads_and_runs(drawn):
    """Whether ONNX Runtime takes the drawn model at each binding."""
    try:
        pair = Pair(drawn.model, drawn.model, drawn.precision, drawn.has_rounding_trick)
        for binding in range(BINDINGS):
            pair.run(0, feeds.draw(drawn.seed, drawn.inputs, drawn.sizes(binding), "normal"))
        return True
    except Exception:
        return False
