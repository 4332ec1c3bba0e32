#include "tests/core/rules/soundness.h"

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/ops/infer_graph.h"
#include "tests/core/domain/fact_check.h"
#include "tests/support/graphs.h"

namespace quotient::rules {
namespace {

using domain::OpWord;
using domain::TensorEGraph;
using egraph::ENodeId;

class Matches final : public egraph::MatchSink {
 public:
  bool Add(egraph::Match match) override {
    matches.push_back(std::move(match));
    return matches.size() < 2000;
  }
  std::vector<egraph::Match> matches;
};

[[noreturn]] void Die(const absl::Status& status, absl::string_view what) {
  std::cerr << what << ": " << status << "\n";
  std::abort();
}

double WideFloat(Rng& rng) {
  const double sign = rng.Below(2) == 0 ? -1 : 1;
  switch (rng.Below(8)) {
    case 0:
      return 0;
    case 1:
      return sign * (static_cast<double>(rng.Below(8)) + 0.5);
    case 2:
      return sign * static_cast<double>(rng.Below(8));
    default:
      return sign * std::pow(10, rng.Uniform(-3, 3));
  }
}

double RandomElement(model::DType dtype, Values values, Rng& rng) {
  if (dtype == model::DType::kBool) return static_cast<double>(rng.Below(2));
  const bool wide = values == Values::kWide;
  if (model::IsFloat(dtype)) return wide ? WideFloat(rng) : rng.Uniform(-1, 1);
  return wide ? static_cast<double>(rng.Below(15)) - 7 : static_cast<double>(rng.Below(3));
}

model::Tensor RandomTensor(const model::TensorType& type, Values kind, Rng& rng) {
  std::span<std::byte> buffer;
  const model::Tensor tensor = model::Tensor::Allocate(type.dtype, type.dims(), &buffer);
  std::vector<double> values(tensor.elements());
  for (double& value : values) value = RandomElement(type.dtype, kind, rng);
  model::Store(type.dtype, buffer, 0, std::span<const double>(values));
  return tensor;
}

class Checker {
 public:
  Checker(const TensorEGraph& tensors, const eval::ValueMap& inputs, double tolerance)
      : tensors_(tensors), graph_(*tensors.egraph), inputs_(inputs), tolerance_(tolerance) {
    values_.resize(graph_.class_bound());
  }

  Verdict Run() {
    // The original values stand: a class that holds two of them must hold two equal ones.
    if (const std::string error = OriginalValues(); !error.empty()) return {error, 0};
    bool progress = true;
    std::vector<bool> done(graph_.enode_bound());
    while (progress) {
      progress = false;
      for (const ClassId cls : graph_.classes()) {
        for (const ENodeId enode : graph_.nodes(cls)) {
          if (done[enode.value()]) continue;
          const std::optional<model::Tensor> value = Compute(enode);
          if (!failure_.empty()) return {failure_, checked_, graph_.origin(enode)};
          if (!value) continue;
          done[enode.value()] = progress = true;
          if (const std::string error = Offer(cls, enode, *value); !error.empty()) {
            return {error, checked_, graph_.origin(enode)};
          }
        }
      }
    }
    return {"", checked_};
  }

 private:
  std::string OriginalValues() {
    std::vector<model::ValueId> wanted;
    const model::Graph& original = tensors_.original;
    for (size_t i = 0; i < original.values.size(); ++i) {
      if (tensors_.class_of_value[i].valid() && !original.values[i].constant) {
        wanted.push_back(model::ValueId(static_cast<uint32_t>(i)));
      }
    }
    const auto values = eval::Evaluate(original, inputs_, wanted, 1);
    if (!values.ok()) return absl::StrCat("evaluating the original: ", values.status().message());
    for (const auto& [id, tensor] : *values) {
      const ClassId cls = graph_.Find(tensors_.class_of_value[id.value()]);
      std::optional<model::Tensor>& slot = values_[cls.value()];
      if (slot && !(RelativeError(*slot, tensor) <= tolerance_)) {
        return absl::StrCat("class ", cls.value(), " holds different values, among them '",
                            original.value(id).name, "'");
      }
      slot = tensor;
      if (const std::string error = FactsError(cls, tensor); !error.empty()) return error;
    }
    return "";
  }

  std::optional<model::Tensor> Compute(ENodeId enode) {
    const auto node = graph_.node(enode);
    const OpWord& word = tensors_.domain->word(node.op);
    switch (word.sort) {
      case OpWord::Sort::kConstant:
        return *word.constant;
      case OpWord::Sort::kInput:
        return inputs_.at(tensors_.original.inputs[word.index]);
      case OpWord::Sort::kOperator:
        break;
      default:
        return std::nullopt;
    }
    model::Node call;
    call.op = word.name;
    call.attributes = word.attributes;
    call.outputs = {model::ValueId(0)};
    std::vector<const model::Tensor*> operands;
    for (const ClassId child : node.children) {
      const ClassId cls = graph_.Find(child);
      const bool absent = tensors_.domain->data(graph_, cls).absent;
      const auto& value = values_[cls.value()];
      if (!absent && !value) return std::nullopt;
      operands.push_back(absent ? nullptr : &*value);
      call.inputs.push_back(absent ? model::ValueId() : model::ValueId(cls.value()));
    }
    auto outputs = ops::EvaluateNode(call, operands, 1);
    if (!outputs.ok()) {
      failure_ = absl::StrCat("evaluating e-node ", Text(enode), " by rule ", graph_.origin(enode),
                              ": ", outputs.status().message());
      return std::nullopt;
    }
    return (*outputs)[0];
  }

  std::string Offer(ClassId cls, ENodeId enode, const model::Tensor& value) {
    ++checked_;
    if (const std::string error = FactsError(cls, value); !error.empty()) {
      return absl::StrCat(error, ", e-node ", Text(enode), " by rule ", graph_.origin(enode));
    }
    std::optional<model::Tensor>& slot = values_[cls.value()];
    if (!slot) {
      slot = value;
      return "";
    }
    const double error = RelativeError(*slot, value);
    if (error <= tolerance_) return "";
    return absl::StrCat("class ", cls.value(), ", e-node ", Text(enode), " by rule ",
                        graph_.origin(enode), ": relative error ", error);
  }

  std::string FactsError(ClassId cls, const model::Tensor& value) const {
    const std::string error =
        domain::Contradiction(tensors_.domain->data(graph_, cls).facts, value, tolerance_);
    return error.empty() ? "" : absl::StrCat("class ", cls.value(), ": ", error);
  }

  std::string Text(ENodeId enode) const {
    const auto node = graph_.node(enode);
    std::string text = absl::StrCat(tensors_.domain->Name(node.op), "(");
    for (const ClassId child : node.children) {
      absl::StrAppend(&text, " ", child.value(), ":",
                      ToString(tensors_.domain->data(graph_, child).type));
    }
    return text + " )";
  }

  const TensorEGraph& tensors_;
  const EGraph& graph_;
  const eval::ValueMap& inputs_;
  const double tolerance_;
  std::vector<std::optional<model::Tensor>> values_;  // by ClassId
  std::string failure_;  // What could not be evaluated; empty if nothing.
  int64_t checked_ = 0;
};

}  // namespace

model::Graph ParseStatic(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  if (const absl::Status status = ops::InferTypes(graph); !status.ok()) Die(status, text);
  return graph;
}

model::Graph Measured(const model::Graph& graph) {
  ops::InputShapes shapes;
  for (const model::ValueId input : graph.inputs) {
    std::vector<int64_t>& dims = shapes[graph.value(input).name];
    for (const model::Dim& dim : *graph.value(input).type.shape) {
      dims.push_back(dim.is_number() ? dim.number() : 2);
    }
  }
  absl::StatusOr<model::Graph> measured = ops::BindShapes(graph, shapes);
  if (!measured.ok()) Die(measured.status(), graph.name);
  return *std::move(measured);
}

eval::ValueMap RandomInputs(const model::Graph& graph, uint64_t seed, Values values) {
  Rng rng(seed, 17);
  eval::ValueMap inputs;
  for (const model::ValueId input : graph.inputs) {
    inputs.emplace(input, RandomTensor(graph.value(input).type, values, rng));
  }
  return inputs;
}

std::map<std::string, int> Grow(TensorEGraph& tensors, std::span<const egraph::Rule* const> rules,
                                int iterations, int64_t max_enodes, egraph::Origin first_origin) {
  std::map<std::string, int> changes;
  EGraph& graph = *tensors.egraph;
  for (int i = 0; i < iterations; ++i) {
    std::vector<Matches> found(rules.size());
    for (size_t rule = 0; rule < rules.size(); ++rule) rules[rule]->Search(graph, found[rule]);
    bool changed = false;
    for (size_t rule = 0; rule < rules.size(); ++rule) {
      for (const egraph::Match& match : found[rule].matches) {
        if (graph.enode_bound() > max_enodes) break;
        const auto applied =
            rules[rule]->Apply(graph, match, first_origin + static_cast<egraph::Origin>(rule));
        if (!applied.ok()) Die(applied.status(), rules[rule]->name());
        if (*applied) ++changes[rules[rule]->name()];
        changed |= *applied;
      }
    }
    if (const absl::Status status = graph.Rebuild(); !status.ok()) Die(status, "Rebuild");
    if (!changed) break;
  }
  return changes;
}

std::vector<egraph::Match> MatchesOf(const TensorEGraph& tensors, const egraph::Rule& rule) {
  Matches sink;
  rule.Search(*tensors.egraph, sink);
  return std::move(sink.matches);
}

Verdict CheckSoundness(const TensorEGraph& tensors, const eval::ValueMap& inputs,
                       double tolerance) {
  return Checker(tensors, inputs, tolerance).Run();
}

bool ChangesOriginalClass(const TensorEGraph& tensors) {
  const EGraph& graph = *tensors.egraph;
  std::map<ClassId, ClassId> before;  // what FromGraph said, by what it is now
  for (const ClassId cls : tensors.class_of_value) {
    if (!cls.valid()) continue;
    const auto [it, is_new] = before.try_emplace(graph.Find(cls), cls);
    if (!is_new && it->second != cls) return true;
    for (const ENodeId enode : graph.nodes(graph.Find(cls))) {
      if (graph.origin(enode) != egraph::kInputOrigin) return true;
    }
  }
  return false;
}

std::vector<ENodeId> ChooseNew(const TensorEGraph& tensors) {
  const EGraph& graph = *tensors.egraph;
  std::vector<double> cost(graph.class_bound(), std::numeric_limits<double>::infinity());
  std::vector<ENodeId> choice(graph.class_bound());
  for (bool progress = true; progress;) {
    progress = false;
    for (const ClassId cls : graph.classes()) {
      for (const ENodeId enode : graph.nodes(cls)) {
        const auto node = graph.node(enode);
        double total =
            graph.origin(enode) == egraph::kInputOrigin && !node.children.empty() ? 1000 : 1;
        for (const ClassId child : node.children) total += cost[graph.Find(child).value()];
        if (total < cost[cls.value()]) {
          cost[cls.value()] = total;
          choice[cls.value()] = enode;
          progress = true;
        }
      }
    }
  }
  return choice;
}

double RelativeError(const model::Tensor& expected, const model::Tensor& actual) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (expected.dtype() != actual.dtype() || expected.dims() != actual.dims()) return kInfinity;
  double largest = 1e-3;
  double difference = 0;
  for (int64_t i = 0; i < expected.elements(); ++i) {
    const double a = expected.GetDouble(i);
    const double b = actual.GetDouble(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return kInfinity;
    largest = std::max({largest, std::abs(a), std::abs(b)});
    difference = std::max(difference, std::abs(a - b));
  }
  return difference / largest;
}

}  // namespace quotient::rules
