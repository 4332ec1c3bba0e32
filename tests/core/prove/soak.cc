#include "tests/core/prove/soak.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/eval/evaluator.h"
#include "core/model/text.h"
#include "core/prove/idle_indices.h"
#include "core/prove/symbols.h"
#include "core/prove/variation.h"
#include "tests/core/prove/promised.h"
#include "tests/core/rules/random_graphs.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

using rules::Values;
using Changes = std::map<std::string, int>;

constexpr int kMostRandomNodes = 12;
constexpr int kMostNodesAround = 4;
constexpr int64_t kMostENodes = 800;
constexpr int64_t kMostPrinted = 64;  // Elements of a constant in a failure.

bool HasHalves(const model::Graph& graph) {
  return std::ranges::any_of(graph.values, [](const model::Value& value) {
    return value.type.dtype == model::DType::kFloat16 ||
           value.type.dtype == model::DType::kBfloat16;
  });
}

class Soaker {
 public:
  Soaker(const SoakOptions& options, const kernels::Backend* device)
      : options_(options), device_(device), rng_(options.seed, 29) {
    for (const rules::RuleCase& each : options.cases) {
      std::vector<model::Graph>& graphs = cases_[each.rule];
      model::Graph graph = rules::ParseStatic(each.fires);
      if (IsStatic(graph)) graphs.push_back(std::move(graph));
    }
    for (const std::string& name : rules::RuleNames(options.families)) {
      if (!IsWanted(name)) continue;
      if (const auto found = cases_.find(name); found != cases_.end() && found->second.empty()) {
        result_.of_symbols.push_back(name);
        continue;
      }
      result_.tallies[name];
      names_.push_back(name);
    }
  }

  absl::StatusOr<SoakResult> Run(const std::function<absl::Status(const SoakResult&)>& progress) {
    constexpr int64_t kProgressStride = 1000;
    for (int64_t i = 0; i < 3 * options_.graphs && !IsDone(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(i % kRandomStride == 0 ? TryRandom() : TryCase());
      if (progress && i % kProgressStride == 0) QUOTIENT_RETURN_IF_ERROR(progress(result_));
    }
    return std::move(result_);
  }

 private:
  static constexpr int64_t kRandomStride = 5;  // One of so many graphs is not made for a rule.

  bool IsWanted(const std::string& name) const {
    return options_.rules.empty() ||
           std::ranges::find(options_.rules, name) != options_.rules.end();
  }
  bool IsDone() const {
    if (result_.failures.size() >= kMostFailures) return true;
    return result_.graphs >= options_.graphs &&
           std::ranges::all_of(result_.tallies, [this](const auto& tally) {
             return tally.second.graphs >= options_.firings;
           });
  }
  // The rule whose turn it is: that with the least effort so far.
  const std::string& Next() const {
    return *std::ranges::min_element(names_, {},
                                     [&](const std::string& name) { return Effort(name); });
  }
  // Variations of a case may never do: such a rule must not keep the others from their turns.
  int64_t Effort(const std::string& name) const {
    constexpr int64_t kTurnsPerGraph = 20;
    const SoakTally& tally = result_.tallies.at(name);
    return std::max(tally.graphs, tally.turns / kTurnsPerGraph);
  }

  absl::Status TryRandom() {
    const int num_nodes = 3 + static_cast<int>(rng_.Below(kMostRandomNodes - 2));
    const model::Graph graph = rules::RandomGraph(rng_.Next(), num_nodes);
    return graph.outputs.empty() ? absl::OkStatus() : Try(graph, "");
  }

  absl::Status TryCase() {
    const std::string rule = Next();
    ++result_.tallies[rule].turns;
    const std::vector<model::Graph>& graphs = cases_[rule];
    if (graphs.empty()) return absl::OkStatus();
    // Operators do not accept most variations of some cases: a Reshape wants the right sizes.
    constexpr int kMostVariations = 20;
    std::optional<model::Graph> varied;
    for (int i = 0; i < kMostVariations && !varied; ++i) {
      varied = Varied(graphs[rng_.Below(graphs.size())], rng_);
    }
    if (!varied) return absl::OkStatus();
    const int num_nodes = static_cast<int>(rng_.Below(kMostNodesAround + 1));
    return Try(rules::RandomGraphAround(*varied, rng_.Next(), num_nodes), rule);
  }

  // `rule`: what the graph was made for; empty if for none.
  absl::Status Try(const model::Graph& graph, const std::string& rule) {
    const uint64_t seed = rng_.Next();
    const eval::ValueMap inputs = rules::RandomInputs(graph, seed);
    // Some variations have no value: an index beyond the end.
    if (!eval::Evaluate(graph, inputs, graph.outputs, /*threads=*/1).ok()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const bool blurs, BlursInfinities(graph, inputs));
    QUOTIENT_ASSIGN_OR_RETURN(const bool overflows, Overflows(graph, inputs));
    if (blurs || overflows || HasIdleIndices(graph)) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
    QUOTIENT_ASSIGN_OR_RETURN(
        const rules::RuleSet set,
        rules::BuildRules(tensors.domain.get(), rules::kNewestOpset, {}, options_.families));
    Changes changes;
    for (size_t i = 0; i < set.rules().size(); ++i) {
      if (set.rules()[i]->name() != rule) continue;
      changes = rules::Grow(tensors, set.rules().subspan(i, 1), /*iterations=*/1, kMostENodes,
                            static_cast<egraph::Origin>(i + 1));
      if (changes.empty()) return absl::OkStatus();  // A variation that the guards keep out.
    }
    if (!rule.empty() && IsDevicesTurn()) TryOnDevice(graph, tensors, set, inputs, rule);
    for (const auto& [name, times] : rules::Grow(tensors, set.rules(), 3, kMostENodes)) {
      changes[name] += times;
    }
    if (changes.empty()) return absl::OkStatus();
    if (rule.empty() && IsDevicesTurn()) TryOnDevice(graph, tensors, set, inputs, rule);
    return Check({graph, tensors, set, rule}, inputs, seed, changes);
  }

  static absl::string_view NameOf(egraph::Origin origin, const rules::RuleSet& set) {
    if (origin == egraph::kInputOrigin || origin > set.rules().size()) return "none";
    return set.rules()[origin - 1]->name();
  }

  struct Grown {
    const model::Graph& graph;
    const domain::TensorEGraph& tensors;
    const rules::RuleSet& set;
    const std::string& rule;  // What was applied alone before all were; empty if nothing.
  };

  absl::Status Check(const Grown& grown, const eval::ValueMap& inputs, uint64_t seed,
                     const Changes& changes) {
    const auto& [graph, tensors, set, rule] = grown;
    const bool has_halves = HasHalves(graph);
    const double tolerance = has_halves ? 5e-2 : 1e-3;
    rules::Verdict verdict = rules::CheckSoundness(tensors, inputs, tolerance);
    if (verdict.error.empty() && tensors.domain->refused_unions() > 0) {
      const auto& refused = tensors.egraph->refused_union();
      verdict = {.error = "two sides have different types",
                 .origin = refused ? refused->origin : 0};
    }
    result_.equations += verdict.checked;
    const eval::ValueMap wide = rules::RandomInputs(graph, seed + 1, Values::kWide);
    // Halves overflow.
    if (verdict.error.empty() && !has_halves && IsPromised(graph, wide)) {
      verdict = rules::CheckSoundness(tensors, wide, tolerance);
      result_.equations += verdict.checked;
    }
    if (!verdict.error.empty()) {
      Fail(absl::StrCat(
               verdict.error, ", by rule ", NameOf(verdict.origin, set),
               rule.empty() ? "" : absl::StrCat("; the rule that was applied first is ", rule)),
           graph);
      return absl::OkStatus();
    }
    ++result_.graphs;
    for (const auto& [name, times] : changes) {
      if (!IsWanted(name)) continue;
      ++result_.tallies[name].graphs;
      result_.tallies[name].changes += times;
    }
    return absl::OkStatus();
  }

  bool IsDevicesTurn() const {
    return device_ != nullptr && result_.on_device * options_.device_stride <= result_.graphs;
  }

  void TryOnDevice(const model::Graph& graph, const domain::TensorEGraph& tensors,
                   const rules::RuleSet& set, const eval::ValueMap& inputs,
                   const std::string& rule) {
    const auto rewritten = domain::ToGraph(tensors, rules::ChooseNew(tensors), set.rules());
    if (!rewritten.ok()) return Fail(std::string(rewritten.status().message()), graph);
    if (!IsCertain(graph, inputs)) return;
    std::vector<model::Tensor> tensors_in;
    for (const model::ValueId id : graph.inputs) tensors_in.push_back(inputs.at(id));
    const auto before = OutputsOf(graph, tensors_in);
    if (!before.ok()) {
      ++result_.refused;
      return;
    }
    const auto after = OutputsOf(*rewritten, tensors_in);
    if (!after.ok()) {
      return Fail(
          absl::StrCat("the device refuses what ", rule, " made: ", after.status().message()),
          graph);
    }
    const double tolerance = HasHalves(graph) ? 5e-2 : 1e-3;
    for (size_t i = 0; i < before->size(); ++i) {
      const double error = rules::RelativeError((*before)[i], (*after)[i]);
      if (error <= tolerance) continue;
      return Fail(absl::StrCat("on the device, output ", i, " differs by ", error, " after ", rule,
                               "; rewritten:\n", model::PrintGraph(*rewritten, kMostPrinted)),
                  graph);
    }
    ++result_.on_device;
    if (!rule.empty()) ++result_.tallies[rule].on_device;
  }

  absl::StatusOr<std::vector<model::Tensor>> OutputsOf(
      const model::Graph& graph, const std::vector<model::Tensor>& inputs) const {
    QUOTIENT_ASSIGN_OR_RETURN(const auto executable, device_->CompileGraph(graph, {}));
    QUOTIENT_RETURN_IF_ERROR(executable->SetInputs(inputs));
    QUOTIENT_RETURN_IF_ERROR(executable->Run());
    return executable->GetOutputs();
  }

  void Fail(const std::string& why, const model::Graph& graph) {
    if (result_.failures.size() >= kMostFailures) return;
    result_.failures.push_back(absl::StrCat(why, "\n", model::PrintGraph(graph, kMostPrinted)));
  }

  const SoakOptions& options_;
  const kernels::Backend* const device_;
  Rng rng_;
  std::vector<std::string> names_;  // Of all rules that have a tally from the start, in order.
  std::map<std::string, std::vector<model::Graph>> cases_;  // Those without symbols.
  SoakResult result_;
};

}  // namespace

std::vector<std::string> TooRare(const SoakResult& result, int64_t firings) {
  std::vector<std::string> lines;
  for (const auto& [name, tally] : result.tallies) {
    if (tally.graphs >= firings) continue;
    std::string line = absl::StrCat("too few: ", name, " changed ", tally.graphs, " of ", firings,
                                    " graphs, in ", Counted(tally.turns, "turn"));
    if (tally.turns == 0) absl::StrAppend(&line, ": the run ended before it had one");
    lines.push_back(std::move(line));
  }
  return lines;
}

absl::StatusOr<SoakResult> Soak(const SoakOptions& options, const kernels::Backend* device,
                                const std::function<absl::Status(const SoakResult&)>& progress) {
  return Soaker(options, device).Run(progress);
}

}  // namespace quotient::prove
