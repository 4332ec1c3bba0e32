#include "tests/core/prove/predecessor_findings.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "core/prove/equations.h"
#include "core/prove/variation.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/graphs.h"

namespace quotient::prove {
namespace {

using domain::TensorEGraph;
using egraph::ClassId;

// --- Comparing both sides ---

// The graph with types, or nullopt if an operator refuses its operands.
std::optional<model::Graph> Typed(model::Graph graph) {
  if (!ops::InferTypes(graph).ok()) return std::nullopt;
  return graph;
}

bool Has(const model::Graph& graph, std::span<const absl::string_view> ops) {
  return std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
    return std::ranges::find(ops, node.op) != ops.end();
  });
}

// The same operators on inputs of other shapes. Windows and axes stay as they are, because those of
// both sides have to agree. Nullopt if types do not allow the shapes, or if they make it another
// rule: one with a concatenation is for one number of axes, and one that cuts says where.
std::optional<model::Graph> OnOtherShapes(const model::Graph& graph, Rng& rng) {
  constexpr absl::string_view kNameSizes[] = {"Slice", "Reshape", "Pad"};
  constexpr absl::string_view kNameAxes[] = {"Concat"};
  if (Has(graph, kNameSizes)) return std::nullopt;
  const std::optional<model::Graph> varied = Varied(graph, rng);
  if (!varied) return std::nullopt;
  const bool same_ranks = std::ranges::all_of(graph.inputs, [&](model::ValueId input) {
    return varied->value(input).type.rank() == graph.value(input).type.rank();
  });
  if (!same_ranks && Has(graph, kNameAxes)) return std::nullopt;
  model::Graph changed = graph;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    model::Value& value = changed.values[i];
    value.type = value.producer.valid() ? model::TensorType() : varied->values[i].type;
  }
  return Typed(std::move(changed));
}

struct Comparison {
  bool compared = false;
  bool exact = true;
  std::string difference;
};

// The outputs of `both` are those of the left side and then those of the right side.
absl::StatusOr<Comparison> Compare(const model::Graph& both, uint64_t seed) {
  const size_t count = both.outputs.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const model::TensorType& left = both.value(both.outputs[i]).type;
    const model::TensorType& right = both.value(both.outputs[count + i]).type;
    if (left != right) {
      return Comparison{true, true, absl::StrCat(ToString(left), " and ", ToString(right))};
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(TensorEGraph tensors, domain::FromGraph(both, both));
  const auto exact = EquationsInField(tensors, both, seed);
  const auto floats = EquationsInFloats(tensors, both, {.seed = seed});
  bool same_term = true;
  for (size_t i = 0; i < count; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool joined,
                              tensors.egraph->Union(tensors.roots[i], tensors.roots[count + i]));
    same_term &= !joined;
  }
  QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
  Agreement agreement = exact->Check();
  const bool is_exact = agreement.gap.empty() && agreement.undefined.empty();
  if (!is_exact) agreement = floats->Check();
  return Comparison{same_term || agreement.compared > 0, is_exact, std::move(agreement.difference)};
}

void Note(const Comparison& comparison, const model::Graph& both, Finding& finding) {
  if (!comparison.compared) return;
  ++finding.instances;
  finding.exact += comparison.exact;
  if (comparison.difference.empty() || !finding.difference.empty()) return;
  finding.difference = absl::StrCat(comparison.difference, " differ in\n", model::PrintGraph(both));
}

// Draws instances until one has types.
absl::StatusOr<PredecessorInstance> DrawTyped(const Predecessor& rule, Weights weights, Rng& rng) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    PredecessorInstance instance = DrawInstance(rule, weights, rng);
    if (Typed(testing::MustParse(instance.Both()))) return instance;
  }
  return absl::FailedPreconditionError(absl::StrCat(rule.name, ": no instance has types"));
}

absl::Status CompareInstances(const Predecessor& rule, int instances, Rng& rng, Finding& finding) {
  constexpr int kTriesPerInstance = 30;
  for (int i = 0; i < kTriesPerInstance * instances && finding.instances < instances; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const PredecessorInstance instance,
                              DrawTyped(rule, Weights::kInputs, rng));
    std::optional<model::Graph> both = rules::ParseStatic(instance.Both());
    if (rule.mark == Mark::kSound && i % 2 == 1) both = OnOtherShapes(*both, rng);
    if (!both) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const Comparison comparison, Compare(*both, rng.Next()));
    Note(comparison, *both, finding);
  }
  if (finding.instances == instances) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(rule.name, ": only ", finding.instances, " instances"));
}

absl::Status CompareCounterexample(const Predecessor& rule, Rng& rng, Finding& finding) {
  const std::optional<model::Graph> both = Typed(testing::MustParse(Counterexample(rule).Both()));
  if (!both)
    return absl::FailedPreconditionError(
        absl::StrCat(rule.name, ": the counterexample has no types"));
  QUOTIENT_ASSIGN_OR_RETURN(const Comparison comparison, Compare(*both, rng.Next()));
  finding.counterexample = comparison.difference;
  return absl::OkStatus();
}

// --- Deriving the right side ---

// Adds the nodes of a graph to the e-graph of another one, whose inputs it finds by their names.
// Returns the classes of its outputs. An Identity, which stands for no function where another rule
// has a Relu, is its operand.
absl::StatusOr<std::vector<ClassId>> AddGraph(const model::Graph& graph, TensorEGraph& tensors) {
  std::vector<ClassId> classes(graph.values.size());
  for (const model::Node& node : graph.nodes) {
    std::vector<ClassId> operands;
    for (const model::ValueId input : node.inputs) {
      ClassId& operand = classes[input.value()];
      const model::Value& value = graph.value(input);
      if (value.constant) {
        QUOTIENT_ASSIGN_OR_RETURN(
            operand, tensors.egraph->Add(tensors.domain->Constant(*value.constant), {}));
      } else if (!operand.valid()) {
        operand = tensors.class_of_value[testing::MustFind(tensors.original, value.name).value()];
      }
      operands.push_back(operand);
    }
    if (node.op == "Identity") {
      classes[node.outputs[0].value()] = operands[0];
      continue;
    }
    QUOTIENT_ASSIGN_OR_RETURN(classes[node.outputs[0].value()],
                              tensors.domain->Add(*tensors.egraph, node.op, node.attributes,
                                                  operands, egraph::kInputOrigin));
  }
  std::vector<ClassId> outputs;
  for (const model::ValueId output : graph.outputs) outputs.push_back(classes[output.value()]);
  return outputs;
}

// Whether the right side is in the class of the left side when the rules have been applied to it.
absl::StatusOr<bool> IsDerived(const PredecessorInstance& instance) {
  constexpr int kIterations = 6;
  constexpr int64_t kMaxENodes = 2000;
  const model::Graph left = rules::ParseStatic(instance.Left());
  QUOTIENT_ASSIGN_OR_RETURN(TensorEGraph tensors, domain::FromGraph(left, left));
  QUOTIENT_ASSIGN_OR_RETURN(const rules::RuleSet set,
                            rules::BuildRules(tensors.domain.get(), rules::kNewestOpset, {}));
  rules::Grow(tensors, set.rules(), kIterations, kMaxENodes);
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<ClassId> outputs,
                            AddGraph(rules::ParseStatic(instance.Both()), tensors));
  QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
  const size_t count = outputs.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const ClassId right = outputs[count + i];
    if (tensors.egraph->Find(tensors.roots[i]) != tensors.egraph->Find(right)) return false;
  }
  return true;
}

// Whether it is in each of a few instances.
absl::StatusOr<bool> IsAlwaysDerived(const Predecessor& rule, Weights weights, uint64_t seed) {
  constexpr int kInstances = 3;
  Rng rng(seed);
  for (int i = 0; i < kInstances; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const PredecessorInstance instance, DrawTyped(rule, weights, rng));
    QUOTIENT_ASSIGN_OR_RETURN(const bool derived, IsDerived(instance));
    if (!derived) return false;
  }
  return true;
}

absl::StatusOr<Derivation> DerivationOf(const Predecessor& rule, uint64_t seed) {
  QUOTIENT_ASSIGN_OR_RETURN(const bool derived, IsAlwaysDerived(rule, Weights::kInputs, seed));
  if (derived) return Derivation::kDerived;
  QUOTIENT_ASSIGN_OR_RETURN(const bool for_weights,
                            IsAlwaysDerived(rule, Weights::kConstants, seed));
  return for_weights ? Derivation::kForWeights : Derivation::kNotDerived;
}

}  // namespace

absl::StatusOr<Finding> Examine(const Predecessor& rule, int instances, uint64_t seed) {
  Rng rng(seed);
  Finding finding;
  if (rule.mark != Mark::kRefused) {
    QUOTIENT_RETURN_IF_ERROR(CompareInstances(rule, instances, rng, finding));
    QUOTIENT_ASSIGN_OR_RETURN(finding.derivation, DerivationOf(rule, seed));
  }
  if (rule.mark != Mark::kSound) {
    QUOTIENT_RETURN_IF_ERROR(CompareCounterexample(rule, rng, finding));
  }
  return finding;
}

bool IsAsExpected(const Predecessor& rule, const Finding& finding) {
  return finding.difference.empty() && finding.derivation == rule.derivation &&
         finding.counterexample.empty() == (rule.mark == Mark::kSound);
}

std::string DerivationText(const Predecessor& rule, const Finding& finding) {
  if (rule.mark == Mark::kRefused) return "";
  const bool by_design = !rule.by_design.empty() && finding.derivation == Derivation::kNotDerived;
  return by_design ? "by design" : NameOf(finding.derivation);
}

}  // namespace quotient::prove
