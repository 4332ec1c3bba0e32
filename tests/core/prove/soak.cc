#include "tests/core/prove/soak.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/eval/evaluator.h"
#include "core/model/text.h"
#include "core/ops/op.h"
#include "core/prove/symbols.h"
#include "core/prove/variation.h"
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

// Whether an operand of a contraction is infinite or NaN. Rules do not promise what becomes of
// those (core/rules/README.md).
absl::StatusOr<bool> BlursInfinities(const model::Graph& graph, const eval::ValueMap& inputs) {
  static constexpr absl::string_view kContractions[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::vector<model::ValueId> operands;
  for (const model::Node& node : graph.nodes) {
    if (std::ranges::find(kContractions, node.op) == std::end(kContractions)) continue;
    for (const model::ValueId id : node.inputs) {
      if (id.valid()) operands.push_back(id);
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values,
                            eval::Evaluate(graph, inputs, operands, /*threads=*/1));
  return std::ranges::any_of(values, [](const auto& value) {
    for (int64_t i = 0; i < value.second.elements(); ++i) {
      if (!std::isfinite(value.second.GetDouble(i))) return true;
    }
    return false;
  });
}

// Whether a node reads nothing at indices. The evaluator does not look at these then, but runtimes
// do, and so does a node that reads rows of what is not empty in its place.
bool HasIdleIndices(const model::Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&graph](const model::Node& node) {
    const ops::OpDef* const def = ops::FindOp(node.op);
    if (def == nullptr || graph.value(node.outputs[0]).type.elements() > 0) return false;
    return std::ranges::any_of(def->numerics.requirements, [](const ops::Requirement& requirement) {
      return ops::AreIndices(requirement.kind);
    });
  });
}

// Whether all runtimes compute the same (ops::FoldNode): not so for a product of no elements,
// which ONNX Runtime leaves as it finds it in memory.
bool IsCertain(const model::Graph& graph, const eval::ValueMap& inputs) {
  bool is_certain = true;
  const auto look = [&](model::NodeId id, std::span<const model::Tensor* const> operands,
                        std::vector<model::Tensor>&) {
    is_certain = is_certain && ops::FoldNode(graph.node(id), operands, /*threads=*/1).ok();
  };
  return eval::Evaluate(graph, inputs, graph.outputs, /*threads=*/1, {}, look).ok() && is_certain;
}

// The smallest positive number of the type that is not subnormal; 0 if it is none of floats.
double SmallestNormal(model::DType dtype) {
  if (dtype == model::DType::kFloat32) return std::numeric_limits<float>::min();
  return dtype == model::DType::kFloat64 ? std::numeric_limits<double>::min() : 0;
}

model::Tensor SignsOf(const model::Tensor& tensor) {
  std::span<std::byte> buffer;
  model::Tensor signs = model::Tensor::Allocate(tensor.dtype(), tensor.dims(), &buffer);
  std::vector<double> elements(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = std::copysign(tensor.GetDouble(static_cast<int64_t>(i)) == 0 ? 0 : 1,
                                tensor.GetDouble(static_cast<int64_t>(i)));
  }
  model::Store(tensor.dtype(), buffer, 0, std::span<const double>(elements));
  return signs;
}

// Whether a product or quotient is zero only because it is too small: the node gives another number
// for the signs of its operands.
absl::StatusOr<bool> VanishesIn(const model::Graph& graph, const model::Node& node,
                                const eval::ValueMap& values) {
  if (node.op != "Mul" && node.op != "Div") return false;
  std::vector<model::Tensor> signs;
  for (const model::ValueId id : node.inputs) {
    const auto found = values.find(id);
    signs.push_back(SignsOf(found != values.end() ? found->second : *graph.value(id).constant));
  }
  const model::Tensor* const operands[] = {&signs[0], &signs[1]};
  QUOTIENT_ASSIGN_OR_RETURN(const auto of_signs, ops::EvaluateNode(node, operands, /*threads=*/1));
  const model::Tensor& result = values.at(node.outputs[0]);
  for (int64_t i = 0; i < result.elements(); ++i) {
    if (result.GetDouble(i) == 0 && of_signs[0].GetDouble(i) != 0) return true;
  }
  return false;
}

// Whether a number of the graph is smaller than the smallest normal one. Rules do not promise what
// becomes of those either: a Mul by a Reciprocal that is subnormal has lost digits that the Div
// has.
absl::StatusOr<bool> Underflows(const model::Graph& graph, const eval::ValueMap& inputs) {
  std::vector<model::ValueId> all = graph.inputs;
  for (const model::Node& node : graph.nodes) {
    std::ranges::copy_if(node.outputs, std::back_inserter(all),
                         [](model::ValueId id) { return id.valid(); });
  }
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values,
                            eval::Evaluate(graph, inputs, all, /*threads=*/1));
  for (const auto& [id, tensor] : values) {
    const double smallest = SmallestNormal(tensor.dtype());
    for (int64_t i = 0; smallest > 0 && i < tensor.elements(); ++i) {
      const double number = tensor.GetDouble(i);
      if (number != 0 && std::abs(number) < smallest) return true;
    }
  }
  for (const model::Node& node : graph.nodes) {
    if (SmallestNormal(graph.value(node.outputs[0]).type.dtype) == 0) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool vanishes, VanishesIn(graph, node, values));
    if (vanishes) return true;
  }
  return false;
}

// Whether rules promise what becomes of these inputs, which are wide.
bool IsPromised(const model::Graph& graph, const eval::ValueMap& wide) {
  // An index may be beyond the end.
  if (!eval::Evaluate(graph, wide, graph.outputs, /*threads=*/1).ok()) return false;
  const auto blurs = BlursInfinities(graph, wide);
  const auto underflows = Underflows(graph, wide);
  return blurs.ok() && !*blurs && underflows.ok() && !*underflows;
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
    const auto tries = tries_.find(name);
    constexpr int64_t kTriesPerGraph = 20;
    return std::max(result_.tallies.at(name).graphs,
                    tries == tries_.end() ? 0 : tries->second / kTriesPerGraph);
  }

  absl::Status TryRandom() {
    const int num_nodes = 3 + static_cast<int>(rng_.Below(kMostRandomNodes - 2));
    const model::Graph graph = rules::RandomGraph(rng_.Next(), num_nodes);
    return graph.outputs.empty() ? absl::OkStatus() : Try(graph, "");
  }

  absl::Status TryCase() {
    const std::string rule = Next();
    ++tries_[rule];
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
    if (blurs || HasIdleIndices(graph)) return absl::OkStatus();
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
  std::map<std::string, int64_t> tries_;                    // Variations made for a rule.
  SoakResult result_;
};

}  // namespace

absl::StatusOr<SoakResult> Soak(const SoakOptions& options, const kernels::Backend* device,
                                const std::function<absl::Status(const SoakResult&)>& progress) {
  return Soaker(options, device).Run(progress);
}

}  // namespace quotient::prove
