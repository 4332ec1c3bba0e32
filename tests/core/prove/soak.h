#pragma once

// Soak: all rules together on a large number of random graphs, so many that every rule changes a
// given number of them. In each, every e-node must have the value of its class in the reference
// evaluator; a share of the rewritten graphs is also run by a device, beside the original.

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/backend.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/rule_cases.h"

namespace quotient::prove {

struct SoakOptions {
  int64_t graphs = 1000;  // At least so many.
  // Graphs that each rule has to change; more graphs are made for those that lack some, up to three
  // times `graphs` in all.
  int64_t firings = 10;
  uint64_t seed = 0;
  // Those that graphs are made for, and that are counted; empty: all. All rules are applied in
  // every graph.
  std::vector<std::string> rules;
  // One of so many graphs is run by the device.
  int64_t device_stride = 10;
  std::span<const rules::Family> families = rules::AllFamilies();
  std::span<const rules::RuleCase> cases = rules::RuleCases();
};

struct SoakTally {
  int64_t graphs = 0;     // Which the rule changed and which were compared.
  int64_t changes = 0;    // How often it did.
  int64_t on_device = 0;  // Graphs that it rewrote, compared on the device.
  // How often it was the rule that a graph was to be made for. In most of these turns no variation
  // of its cases is a graph that it changes.
  int64_t turns = 0;
};

struct SoakResult {
  int64_t graphs = 0;     // In which every e-node was compared, and some rule changed something.
  int64_t equations = 0;  // E-nodes compared.
  int64_t on_device = 0;  // Rewritten graphs that were compared on the device.
  int64_t refused = 0;    // Originals that the device refused.
  std::map<std::string, SoakTally> tallies;  // By rule, but for those of symbols.
  // Rules whose cases all have symbols. They apply nowhere else, and graphs here have none: only
  // their certificates (core/prove/certificate.h) say that they are right.
  std::vector<std::string> of_symbols;
  // What differs, with the graph as text. At most kMostFailures.
  std::vector<std::string> failures;
};
inline constexpr size_t kMostFailures = 20;

// A line for each rule that has changed fewer graphs than that: "too few: mul-one changed 3 of 10
// graphs, in 60 turns".
std::vector<std::string> TooRare(const SoakResult& result, int64_t firings);

// Graphs are random ones (tests/core/rules/random_graphs.h), and random variations of the cases of
// the rule that has changed the fewest so far, mostly with random nodes around them. The rule is
// applied first, and alone; what it gives is what the device runs. Then all rules are applied
// together. `device` may be null. `progress` is called now and then; an error of it ends the run.
// Deterministic for equal options, but for what a device refuses. Fails if the rules cannot be
// built.
absl::StatusOr<SoakResult> Soak(
    const SoakOptions& options, const kernels::Backend* device,
    const std::function<absl::Status(const SoakResult&)>& progress = {});

}  // namespace quotient::prove
