#pragma once

// The cost report: what changed, why, what was gained, and how certain that is. The canonical JSON
// is the master copy; the HTML page and the table of the CLI show the same values. README.md
// explains the kinds of costs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/report/explanation.h"
#include "core/timing/statistics.h"

namespace quotient::report {

enum class Outcome { kImproved, kNoImprovement };
absl::string_view OutcomeName(Outcome outcome);  // "improved", "no_improvement"

// What running a whole graph showed; times in microseconds. All zero if nothing was run.
struct Measured {
  double median_us = 0;
  double p10_us = 0;
  double p90_us = 0;
  int runs = 0;
  // Relative norm of the error of what the device computed in one run, on the first set of inputs.
  // Nullopt if it was not compared.
  std::optional<double> error_norm = {};
  // Whether other work on the machine took so much of these few runs that their times are not those
  // of the graph. No report shows the times then.
  bool disturbed = false;

  bool has_times() const { return runs > 0 && !disturbed; }
};

// Numbers of the kernels of a graph that are not free, by the source of their costs.
struct KernelCounts {
  int64_t measured = 0;   // Measured now or earlier.
  int64_t estimated = 0;  // Estimated by an analytic model.

  int64_t total() const { return measured + estimated; }
};

struct GraphFigures {
  int64_t nodes = 0;        // Number of ONNX nodes in the main graph.
  double predicted_us = 0;  // Sum of the costs of all kernels that will run.
  KernelCounts kernels;     // The kernels that predicted_us adds up.
  Measured measured;
};

// Input shapes, other than those used for measuring, at which the result was checked.
struct CheckedBinding {
  std::map<std::string, std::vector<int64_t>> shapes;  // By input name.
  std::string kind;  // What is unusual about them, in words; empty if nothing is.
  int nodes = 0;     // Number of nodes that were compared.
  int cut = 0;       // Number of nodes that were cut out.
};

struct PercentRange {
  double low = 0;
  double high = 0;
};

// Why a candidate is taken, or why it is not (core/optimize/DECISION.md).
enum class Grounds {
  kNotSure,         // Not taken: it cannot be told to be faster.
  kSurelySlower,    // Not taken: it was measured to be slower.
  kMeasured,        // Taken: it was measured to be faster, beyond the noise.
  kCpuTime,         // Taken: runs on one thread take less CPU time.
  kMeasuredLikely,  // Taken: few runs, or noisy ones, make a gain likely without a prediction.
  kSubsetOfWork,    // Taken: it does a subset of the original's work.
  kPredictedAndMeasured,  // Taken: both together make a gain sure, and neither does alone.
  kPredicted,             // Taken: it is predicted to be faster, where nothing can be run.
};
absl::string_view GroundsName(Grounds grounds);  // "not_sure", "surely_slower", ...
// Nullopt for any other text.
std::optional<Grounds> GroundsOfName(absl::string_view name);

// The texts call fewer pairs of runs than these too few.
using timing::kFewestPairs;

// A candidate that was judged. Gains are percentages of the original's time.
struct Considered {
  // Rules whose rewrites the best graph has and this candidate leaves out. Empty for candidates
  // that were not made by leaving rewrites out.
  std::vector<std::string> left_out = {};
  Grounds grounds = Grounds::kNotSure;
  std::optional<double> predicted_percent = {};       // As Report::predicted_speedup_percent.
  std::optional<PercentRange> measured_percent = {};  // As Report::speedup_interval.
  // How much less CPU time runs on one thread take. Compared where other work on the machine
  // disturbs runs with all threads.
  std::optional<PercentRange> cpu_time_percent = {};
  int pairs = 0;  // Number of pairs of runs behind the range that decides; 0 if not known.
  double expected_percent = 0;             // By the prediction and by what decides.
  std::optional<double> probability = {};  // That it is faster, by both.
  bool taken = false;                      // Whether this is the result.
  // Its place among the graphs that the search chose; nullopt for others. Not in the JSON.
  std::optional<size_t> found = {};
};

struct Verification {
  bool passed = false;  // Never if nothing was compared (`inputs` is 0).
  // Largest difference of an output element, relative to the scale of the elements around it
  // (core/verify/README.md).
  double max_relative_error = 0;
  double tolerance = 0;
  int inputs = 0;  // Number of random input sets compared, over all bindings.
  // The bindings checked in addition to that used for measuring.
  std::vector<CheckedBinding> bindings = {};
  std::string bindings_note = {};  // A sentence on why there are no more bindings, or empty.
};

// A time at which another graph became the best one of the search. Its cost is the sum over its
// e-nodes, by the kernel costs known when the strategy ended. E-node costs describe fusion and
// layouts less exactly than GraphFigures::predicted_us, so the two differ even for the original.
struct SearchStep {
  double seconds = 0;       // Since the strategy began.
  int64_t simulations = 0;  // Number of simulations done by then.
  double cost_us = 0;
};

// What the search had done before it was last resumed. The other figures include it.
struct SearchResumption {
  int64_t times = 0;  // How often the search was resumed.
  int64_t simulations = 0;
  double seconds = 0;
};

struct SearchFigures {
  std::string strategy;
  double seconds = 0;
  // The part of `seconds` in which the strategy grew the e-graph. The rest was spent on choosing
  // graphs from it.
  double grow_seconds = 0;
  int64_t enodes = 0;
  int64_t eclasses = 0;
  int64_t iterations = 0;
  std::string stop_reason;       // Why it ended (core/search/README.md), or "failed".
  int64_t kernels_measured = 0;  // Number of kernels that were measured for the search.
  int64_t simulations = 0;       // 0 for strategies that do not simulate.
  int64_t states = 0;            // Number of different states that the simulations reached.
  // The successive best costs, beginning with the cost at the start. They decrease, except where a
  // measurement showed that a graph was not the best after all.
  std::vector<SearchStep> best_costs;
  SearchResumption resumed = {};
};

// A rewrite that the result uses.
struct JournalEntry {
  std::string rule;
  std::string site;    // Name of the node of the original that the rewrite replaced.
  std::string before;  // What that node computes, as text.
  std::string after;   // What replaces it, as text.
  // The rules that lead from `before` to `after`, in order. Empty if this rewrite is part of
  // another entry.
  std::vector<std::string> steps = {};
  // Names of the values that the rewrite computes in another way. A name is that of the original's
  // value, or of the result's where the original has none that is equal.
  std::vector<std::string> values = {};
};

// The answer to a question of the user: why is what this rule makes at this node not in the result?
struct WhyNot {
  std::string rule;
  std::string node;    // The name of the node, or of one of its outputs, as it was asked.
  std::string answer;  // In one word; README.md lists them.
  std::string text;    // A sentence without a full stop.
  std::vector<std::string> details = {};  // Further lines, in the order in which they are read.
  // If the search could have chosen the rewrite: the costs, by e-nodes, of the best graph with it
  // and of the best graph.
  std::optional<double> with_us = {};
  std::optional<double> without_us = {};
};

// Kernels that compute the same operators.
struct KernelTally {
  std::string ops;  // The operators in order, such as "Conv + Relu".
  int64_t count = 0;
  double us = 0;  // The predicted cost of all of them.
};

// A region is a part of the original whose kernels were replaced by others, between values that
// both graphs have. Regions with the same kernels before and after, rewritten by the same rules,
// are one RegionGain.
struct RegionGain {
  std::vector<KernelTally> before;  // The kernels of all these regions; empty if nothing was there.
  std::vector<KernelTally> after;   // Empty if nothing took their place.
  std::vector<std::string> sites;   // For each region the node where it costs most.
  // For each region the nodes of the original in it, by name. Not in the JSON.
  std::vector<std::vector<std::string>> nodes = {};

  double saved_us() const;
};

// What a set of rules saved together. A region that several rules rewrote cannot be divided among
// them, because mostly one rule makes another one applicable.
struct RuleGain {
  std::vector<std::string> rules;   // In order of use. Empty if equal parts were merged by no rule.
  std::vector<RegionGain> regions;  // Those that saved most come first.
  bool estimated = false;           // Whether the cost of any of its kernels is an estimate.

  double saved_us() const;
};

// By how much the predicted cost of the whole was reduced, and where. All regions and `others_us`
// together make the difference between the predicted costs of the two graphs.
struct Gains {
  std::vector<RuleGain> by_rules;  // Those that saved most come first.
  // What was saved at kernels that both graphs have: in another graph they may run in another
  // memory layout, with other constants in the cache, or as a view that costs nothing.
  double others_us = 0;
};

// What a rule did in a job, and what it was worth.
struct RuleFigures {
  // --- On the way to the final e-graph.
  int64_t matches = 0;  // Matches that were applied, whether or not they changed the e-graph.
  int64_t applied = 0;  // Those that did.
  int64_t enodes = 0;   // E-nodes they made, including those that turned out to be equal to others.
  // --- In the result. Zero if the original came back.
  int64_t uses = 0;  // Entries of the journal whose rule or step it is.
  // What was saved in the regions that it rewrote, alone or together with other rules. Each of
  // these rules has the whole saving of the region, so the sum over rules may exceed what was
  // saved.
  double saved_us = 0;
  double saved_alone_us = 0;  // The part of it in regions that no other rule rewrote.
};

// The cost of a node in the original and in the result. `before_us` is missing if the result alone
// has the node, `after_us` if the original alone has it.
struct NodeCost {
  std::string name;
  std::string op;
  std::optional<double> before_us;
  std::optional<double> after_us;
  // "measured", "estimated" (at least in part, by an analytic model) or "free". Empty if the cost
  // is missing.
  std::string before_source;
  std::string after_source;
  double spread = 0;  // Relative spread of the measurement; the larger one of both graphs.
};

// A node in the drawing of a graph, with its incoming edges.
struct DrawnNode {
  std::string name;
  std::string op;
  std::vector<int> inputs;  // Indices of the drawn nodes that compute its inputs.
  bool changed = false;     // Whether the other graph does not have this node.
  double cost_us = 0;
  bool estimated = false;  // Whether cost_us is at least in part an estimate.
};

// The snapshot that the costs of a device were read from.
struct Recording {
  std::string device;  // Name of the device where it was recorded, such as "cpu".
  std::string time;    // Such as "2026-03-14T09:26:53Z".
  std::string engine;  // Version of Quotient that recorded it.
};

struct Report {
  Outcome outcome = Outcome::kNoImprovement;
  // Empty if an optimization was tried. Otherwise the name of the reason (core/base/reason.h) why
  // the model was returned untouched. A note then explains it, and no other figure is meaningful.
  std::string passed_through;
  std::string model_name;
  std::string engine_version;
  bool measured = false;    // If false, costs come from a model or a snapshot and nothing was run.
  std::string device;       // "onnxruntime", "cpu", "model:h200", "snapshot:...".
  std::string fingerprint;  // Canonical text that describes the device.
  int threads = 0;          // Number of threads per kernel.
  std::optional<Recording> recorded;  // Set if the device is known from a snapshot.
  GraphFigures original;
  GraphFigures optimized;
  // Number of nodes that Quotient does not understand. No prediction includes their time, and what
  // was measured includes it only if cut_nodes_run.
  int cut_nodes = 0;
  bool cut_nodes_run = false;  // Whether the device runs whole files, with these nodes.
  // (original - optimized) / original * 100. What was measured is that of runs in turns, each
  // compared with the run of the other graph in the same turn, which noise moves less than the
  // medians, or of the CPU time that the taken candidate was compared by. No gain is predicted on a
  // device that measures if the two graphs differ in kernels that were not measured in time: their
  // estimates say little.
  double speedup_percent = 0;
  std::optional<double> predicted_speedup_percent;
  // The 99 % confidence interval of the measured gain. Missing if no runs were compared.
  std::optional<PercentRange> speedup_interval;
  // The candidates that were judged, in the order of their predicted costs and of the rounds in
  // which they were tried.
  std::vector<Considered> considered;
  Verification verification;
  SearchFigures search;
  Gains gains;
  std::map<std::string, RuleFigures> rules;  // By name: those that had a match or are used.
  std::vector<JournalEntry> journal;
  std::vector<WhyNot> why_not;  // In the order of RULE@NODE as text, each question once.
  // What the runtime made of the original. Unset on devices that run no files, and where the
  // kernels of the file are not known.
  std::optional<Explanation> explanation;
  std::vector<NodeCost> nodes;
  std::vector<DrawnNode> drawn_before;
  std::vector<DrawnNode> drawn_after;
  std::map<std::string, double> phase_seconds;  // By phase; core/optimize/README.md lists them.
  std::vector<std::string>
      notes;  // what a reader should know: symbols bound for measuring, cuts, ...

  // Whether the original was run, and the candidates against it. False on a device that is only a
  // model or a snapshot, and if running failed, which a note then explains.
  bool ran() const { return original.measured.runs > 0; }
  // Whether speedup_percent was measured. On a busy machine there may be no time for that.
  bool knows_speedup() const {
    return ran() && (optimized.measured.runs > 0 || speedup_interval.has_value());
  }
};

// Canonical JSON: the keys in fixed order, numbers in shortest form, a newline at the end.
std::string ToJson(const Report& report);

// Reads what ToJson wrote. Unknown keys are ignored and missing ones keep their defaults.
// INVALID_ARGUMENT if the text is not a JSON object or a value has the wrong type.
absl::StatusOr<Report> ReportFromJson(absl::string_view json);

// One self-contained page without scripts or external resources. Every name is escaped.
std::string ToHtml(const Report& report);

// "equal on 4 random inputs, largest relative error 2e-07 (limit 0.0001)", or a text saying that
// the original came back, which needs no check.
std::string CheckText(const Verification& check);

// Lines that say at which other bindings the result was checked, and why there are no more. They
// contain names from the model, so the caller must escape them.
std::vector<std::string> BindingLines(const Verification& check);

// The mark before a cost that is at least in part an estimate: "~". Empty for other costs.
absl::string_view EstimateMark(bool estimated);
// Whether a predicted cost of either graph includes an estimate.
bool HasEstimates(const Report& report);
// Whether the cost of any kernel of either graph was measured, now or earlier.
bool KnowsKernels(const Report& report);
// Which figures are without the nodes that are not understood, in words. Empty if there are none.
std::string CutNodesText(const Report& report);

// A sentence on where the costs come from. For reports without measurements.
std::string UnmeasuredText(const Report& report);

// "ONNX Runtime 1.31.1 on AMD EPYC 7B13, 2 threads": where the figures were measured or recorded,
// and with which library. Empty where no device was measured. Holds text of the snapshot, if there
// is one, so the caller must escape it.
std::string DevicePlaceText(const Report& report);
// What stands before that place: "Measured on", or what was not measured there.
absl::string_view DevicePlaceHeading(const Report& report);

// The answers as lines without indentation: the sentence of an answer, then its details behind a
// blank. They contain names from the model, so the caller must escape them.
std::vector<std::string> WhyNotLines(const Report& report);

// "1234 simulations, 321 different states"; empty if the strategy does not simulate.
std::string TriedText(const SearchFigures& search);

// "3 of 17 rules with a match are in the result; the others made 1204 of 2011 e-nodes"; empty if no
// rule had a match.
std::string RulesText(const Report& report);

// "resumed once with what 1234 simulations had found in 12.3 s"; empty if it was not resumed.
std::string ResumedText(const SearchFigures& search);

// The table that the CLI prints.
std::string ToTable(const Report& report);

}  // namespace quotient::report
