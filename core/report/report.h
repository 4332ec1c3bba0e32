#pragma once

// The cost report: what changed, why, what it gained, how sure we are. The canonical JSON is the
// master; the HTML page and the CLI's table are drawn from the same value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::report {

enum class Outcome { kImproved, kNoImprovement };
absl::string_view OutcomeName(Outcome outcome);  // "improved", "no_improvement"

// Microseconds of whole runs; all zero where nothing was run.
struct Measured {
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  int runs = 0;
};

// Kernels of a graph that cost something, by how their costs are known.
struct KernelCounts {
  int64_t measured = 0;   // now or earlier
  int64_t estimated = 0;  // by an analytic model

  int64_t total() const { return measured + estimated; }
};

struct GraphFigures {
  int64_t nodes = 0;        // ONNX nodes of the main graph
  double predicted_us = 0;  // of the whole graph: the sum of the costs of the kernels that will run
  KernelCounts kernels;     // whose costs these are
  Measured measured;
};

// Other dims that the result was checked at.
struct CheckedBinding {
  std::map<std::string, std::vector<int64_t>> shapes;  // by input
  int nodes = 0;                                       // that were compared
  int cut = 0;                                         // that were not
};

struct Verification {
  bool passed = false;
  // Largest difference of an element over what surrounds it (core/verify/README.md).
  double max_relative_error = 0;
  double tolerance = 0;
  int inputs = 0;  // random input sets compared, at all dims together
  // Beside those of measuring.
  std::vector<CheckedBinding> bindings = {};
  std::string bindings_note = {};  // why there are no more; a sentence or empty
};

// From here on the search held another graph to be the best. Its cost is the sum over its e-nodes,
// as they were known when the e-graph had been grown: what the search goes by. They know less of
// fusion and layouts than GraphFigures::predicted_us, so the two differ, also for the original.
struct SearchStep {
  double seconds = 0;  // since the strategy began
  int64_t simulations = 0;
  double cost_us = 0;
};

// What the search took over when it was resumed last; the other figures hold it, too.
struct SearchResumption {
  int64_t times = 0;  // it was resumed; 0: it never was
  int64_t simulations = 0;
  double seconds = 0;
};

struct SearchFigures {
  std::string strategy;
  double seconds = 0;
  double grow_seconds = 0;  // of these, how long the strategy took; the rest went into choosing
  int64_t enodes = 0;
  int64_t eclasses = 0;
  int64_t iterations = 0;
  std::string stop_reason;  // a StopReasonName, explained in core/search/README.md; or "failed"
  int64_t kernels_measured = 0;
  int64_t simulations = 0;  // what a tree search tried, and the different states it saw
  int64_t states = 0;
  // From that at the start on. They fall, but where a measurement has shown that what was held to
  // be the best was not.
  std::vector<SearchStep> best_costs;
  std::map<std::string, int64_t> applied = {};  // matches by rule that grew the final e-graph
  SearchResumption resumed = {};
};

// One application of a rule that the result uses.
struct JournalEntry {
  std::string rule;
  std::string site;  // name of a node of the original that the rewrite replaced
  std::string before;
  std::string after;
  // The rules that lead from the one to the other, in order; none where it is part of another
  // entry.
  std::vector<std::string> steps = {};
};

// A node of the original (after_us missing: gone) or of the result (before_us missing: new).
struct NodeCost {
  std::string name;
  std::string op;
  std::optional<double> before_us;
  std::optional<double> after_us;
  // "measured"; "estimated", if only in part, by an analytic model; "free". Empty for what is
  // missing.
  std::string before_source;
  std::string after_source;
  double spread = 0;  // relative spread of the measurement; the larger of both
};

// A node or edge of the pictures drawn before/after.
struct DrawnNode {
  std::string name;
  std::string op;
  std::vector<int> inputs;  // indices of drawn nodes
  bool changed = false;     // not in the other graph
  double cost_us = 0;
  bool estimated = false;  // and not measured
};

struct PercentRange {
  double low = 0;
  double high = 0;
};

// The snapshot that a device is known from.
struct Recording {
  std::string device;  // what it was called where it was recorded: "cpu"
  std::string time;    // "2026-03-14T09:26:53Z"
  std::string engine;  // the version that recorded it
};

struct Report {
  Outcome outcome = Outcome::kNoImprovement;
  // The name of the reason (core/base/reason.h) why the model came back without anything having
  // been tried; a note has the words. Empty: it was tried. No other figure means anything then.
  std::string passed_through;
  std::string model_name;
  std::string engine_version;
  bool measured = false;    // false: costs come from a model or a snapshot, and nothing was run
  std::string device;       // as asked for: "cpu", "model:h200", "snapshot:..."
  std::string fingerprint;  // the device's canonical text
  int threads = 0;          // of a kernel
  std::optional<Recording> recorded;
  GraphFigures original;
  GraphFigures optimized;
  // Nodes that are not understood: what they take is in no figure of this report.
  int cut_nodes = 0;
  double speedup_percent = 0;  // (original - optimized) / original * 100, measured medians
  double predicted_speedup_percent = 0;  // the same of the predictions
  // Where the gain surely lies (99 %), by the ratio of the lower quartiles, which noise moves less
  // than the medians. Nothing where nothing was compared.
  std::optional<PercentRange> speedup_interval;
  Verification verification;
  SearchFigures search;
  std::vector<JournalEntry> journal;
  std::vector<NodeCost> nodes;
  std::vector<DrawnNode> drawn_before;
  std::vector<DrawnNode> drawn_after;
  std::map<std::string, double> phase_seconds;  // README.md lists them
  std::vector<std::string>
      notes;  // what a reader should know: symbols bound for measuring, cuts, ...

  // The original was run, and the candidates against it. Not so on a device that is only a model or
  // a snapshot, or if running failed; a note says which.
  bool ran() const { return original.measured.runs > 0; }
};

// Canonical JSON: fixed key order, numbers in shortest form, ends with a newline.
std::string ToJson(const Report& report);

// Reads what ToJson wrote; unknown keys are ignored. INVALID_ARGUMENT for anything else.
absl::StatusOr<Report> ReportFromJson(absl::string_view json);

// One self-contained page: no scripts or styles from elsewhere, every name escaped.
std::string ToHtml(const Report& report);

// "equal on 4 random inputs, largest relative error 2e-07 (limit 0.0001)", or that the original
// needs no check.
std::string CheckText(const Verification& check);

// Lines that say which other dims the result was checked at, and why there are no more. They hold
// names of the model: to be escaped.
std::vector<std::string> BindingLines(const Verification& check);

// What stands before a cost that was not measured, or not all of it: "~", else "".
absl::string_view EstimateMark(bool estimated);
// Whether any cost of a report has it.
bool HasEstimates(const Report& report);
// Whether any was measured, now or earlier.
bool KnowsKernels(const Report& report);
// "without 2 nodes that are not understood"; "" if there are none.
std::string WithoutWhat(const Report& report);

// Where costs come from if nothing was measured: a sentence.
std::string UnmeasuredText(const Report& report);

// "1234 simulations, 321 different states"; empty where the strategy does not simulate.
std::string TriedText(const SearchFigures& search);

// "resumed once with what 1234 simulations had found in 12.3 s"; empty if it was not.
std::string ResumedText(const SearchFigures& search);

// The table the CLI prints.
std::string ToTable(const Report& report);

}  // namespace quotient::report
