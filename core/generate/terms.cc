#include "core/generate/terms.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern_text.h"
#include "core/generate/words.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient::generate {
namespace {

constexpr model::DType kType = model::DType::kFloat32;

}  // namespace

Terms::Terms(const Universe* universe) : universe_(*universe) {
  for (size_t i = 0; i < universe_.variables.size(); ++i) {
    Term term;
    term.variable = static_cast<int>(i);
    term.shape = InternShape(universe_.variables[i].dims);
    term.is_weight = universe_.variables[i].is_weight;
    terms_.push_back(term);
  }
}

uint32_t Terms::InternShape(const Ints& dims) {
  const auto found = std::ranges::find(shapes_, dims);
  if (found == shapes_.end()) shapes_.push_back(dims);
  return static_cast<uint32_t>(std::ranges::find(shapes_, dims) - shapes_.begin());
}

std::span<const TermId> Terms::operands(TermId id) const {
  const Term& term = terms_[id.value()];
  if (term.is_variable()) return {};
  return {term.operands, static_cast<size_t>(universe_.operators[term.op].num_operands)};
}

std::optional<uint32_t> Terms::ShapeOf(int op, std::span<const TermId> operands) {
  std::vector<uint32_t> key = {static_cast<uint32_t>(op)};
  for (const TermId id : operands) key.push_back(term(id).shape);
  const auto [found, is_new] = shape_of_application_.try_emplace(std::move(key), std::nullopt);
  if (!is_new) return found->second;
  std::vector<model::TensorType> types;
  for (const TermId id : operands) types.push_back(model::StaticType(kType, dims(id)));
  std::vector<ops::InferInput> inputs(types.size());
  for (size_t i = 0; i < types.size(); ++i) inputs[i].type = &types[i];
  const Operator& word = universe_.operators[op];
  const auto inferred = ops::InferNode(*ops::FindOp(word.name), {word.attributes, inputs, 1});
  if (inferred.ok() && inferred->types[0].is_static()) {
    found->second = InternShape(inferred->types[0].dims());
  }
  return found->second;
}

std::optional<TermId> Terms::Apply(int op, std::span<const TermId> operands) {
  if (universe_.operators[op].wants_weight && !term(operands[1]).is_weight) return std::nullopt;
  std::vector<TermId> ordered(operands.begin(), operands.end());
  if (ops::FindOp(universe_.operators[op].name)->commutative) {
    std::ranges::sort(ordered, {}, [this](TermId id) { return std::pair(term(id).is_weight, id); });
  }
  std::vector<uint32_t> key = {static_cast<uint32_t>(op)};
  for (const TermId id : ordered) key.push_back(id.value());
  const auto found = id_of_.find(key);
  if (found != id_of_.end()) return found->second;
  const std::optional<uint32_t> shape = ShapeOf(op, ordered);
  if (!shape) return std::nullopt;
  Term term;
  term.op = op;
  std::ranges::copy(ordered, term.operands);
  term.shape = *shape;
  term.is_weight =
      std::ranges::all_of(ordered, [this](TermId id) { return this->term(id).is_weight; });
  const TermId id(static_cast<uint32_t>(terms_.size()));
  terms_.push_back(term);
  id_of_.emplace(std::move(key), id);
  return id;
}

std::string Terms::Text(TermId id) const {
  if (term(id).is_variable()) return universe_.variables[term(id).variable].name;
  return absl::StrCat(op(id).name, InBrackets(op(id)), "(",
                      absl::StrJoin(operands(id), ", ",
                                    [this](std::string* out, TermId operand) {
                                      absl::StrAppend(out, Text(operand));
                                    }),
                      ")");
}

absl::StatusOr<TermId> Terms::Parse(absl::string_view text) {
  QUOTIENT_ASSIGN_OR_RETURN(const egraph::Term tree, egraph::ParseTerm(text));
  const auto add = [&](const auto& self, const egraph::Term& node) -> absl::StatusOr<TermId> {
    std::vector<TermId> children;
    for (const egraph::Term& child : node.children) {
      QUOTIENT_ASSIGN_OR_RETURN(const TermId id, self(self, child));
      children.push_back(id);
    }
    for (size_t i = 0; i < universe_.variables.size(); ++i) {
      if (node.name == universe_.variables[i].name) return TermId(static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < universe_.operators.size(); ++i) {
      const Operator& word = universe_.operators[i];
      if (node.name != word.name || node.attributes != AttributesText(word.attributes)) continue;
      if (children.size() != static_cast<size_t>(word.num_operands)) continue;
      if (const auto id = Apply(static_cast<int>(i), children)) return *id;
    }
    return absl::InvalidArgumentError(absl::StrCat(universe_.name, " has no such term: ", text));
  };
  return add(add, tree);
}

TermId Terms::Renamed(TermId id, std::span<const int> variables) {
  if (term(id).is_variable()) {
    return TermId(static_cast<uint32_t>(variables[term(id).variable]));
  }
  std::vector<TermId> renamed(operands(id).begin(), operands(id).end());
  for (TermId& operand : renamed) operand = Renamed(operand, variables);
  return *Apply(term(id).op, renamed);
}

std::vector<TermId> Terms::Parts(TermId id) const {
  std::vector<TermId> parts;
  const auto add = [&](const auto& self, TermId part) -> void {
    for (const TermId operand : operands(part)) self(self, operand);
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  };
  add(add, id);
  return parts;
}

int Terms::Size(TermId id) const {
  return static_cast<int>(
      std::ranges::count_if(Parts(id), [this](TermId part) { return !term(part).is_variable(); }));
}

std::vector<int> Terms::VariablesOf(TermId id) const {
  std::vector<int> variables;
  for (const TermId part : Parts(id)) {
    if (term(part).is_variable()) variables.push_back(term(part).variable);
  }
  return variables;
}

Instance Terms::Small() const {
  Instance instance;
  for (const Variable& each : universe_.variables) instance.dims.push_back(each.dims);
  for (const Operator& each : universe_.operators) instance.words.push_back(each.attributes);
  return instance;
}

Instance Terms::Large() const {
  Instance instance;
  for (const Variable& each : universe_.variables) instance.dims.push_back(each.large_dims);
  for (const Operator& each : universe_.operators) instance.words.push_back(each.large_attributes);
  instance.weights_are_constants = true;
  return instance;
}

std::optional<model::Graph> Terms::ToGraph(std::span<const TermId> outputs,
                                           const Instance& instance) const {
  model::Graph graph;
  graph.name = "g";
  absl::flat_hash_map<TermId, model::ValueId> values;
  for (const TermId output : outputs) {
    for (const TermId part : Parts(output)) {
      if (values.contains(part)) continue;
      if (term(part).is_variable()) {
        const int variable = term(part).variable;
        const Variable& named = universe_.variables[variable];
        const model::TensorType type = model::StaticType(kType, instance.dims[variable]);
        values[part] = instance.weights_are_constants && named.is_weight
                           ? graph.AddConstant(named.name, RandomWeights(type, variable))
                           : graph.AddInput(named.name, type);
        continue;
      }
      std::vector<model::ValueId> inputs;
      for (const TermId operand : operands(part)) inputs.push_back(values.at(operand));
      values[part] = graph.AddOp(op(part).name, std::move(inputs), instance.words[term(part).op],
                                 absl::StrCat("t", part.value()));
    }
    graph.outputs.push_back(values.at(output));
  }
  if (!ops::InferTypes(graph).ok()) return std::nullopt;
  const auto is_static = [](const model::Value& value) { return value.type.is_static(); };
  if (!std::ranges::all_of(graph.values, is_static)) return std::nullopt;
  return graph;
}

}  // namespace quotient::generate
