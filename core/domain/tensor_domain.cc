#include "core/domain/tensor_domain.h"

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"

namespace quotient::domain {
namespace {

// Removes the attributes that have their default value.
model::AttributeMap WithoutDefaults(const ops::OpDef& def, model::AttributeMap attributes) {
  for (const ops::AttributeDef& row : def.attributes) {
    if (!row.default_value.has_value()) continue;
    const model::Attribute* value = attributes.Find(row.name);
    if (value != nullptr && model::SameAttribute(*value, *row.default_value)) {
      attributes.Erase(row.name);
    }
  }
  return attributes;
}

bool NumbersOnly(const TypePair& types) { return types.type == types.measured; }

// The result of inference over `type` or over `measured`.
struct Inferred {
  model::TensorType type;
  std::optional<ops::Elements> elements;
};

absl::StatusOr<Inferred> Infer(const OpWord& word, std::span<const ops::InferInput> inputs) {
  const ops::InferContext context{word.attributes, inputs, /*num_outputs=*/1};
  QUOTIENT_ASSIGN_OR_RETURN(ops::InferResult result, ops::InferNode(*word.def, context));
  if (result.types.size() != 1) {
    return MakeError(Reason::kInternal, absl::StrCat(word.name, ": one output expected"));
  }
  return Inferred{std::move(result.types[0]), std::move(result.elements)};
}

Facts WithCanonicalTie(const EGraph& graph, Facts facts) {
  if (facts.tie) facts.tie->to = graph.Find(ClassId(facts.tie->to)).value();
  return facts;
}

// Whether `after`, which implies `before`, says enough more to count as a change. Forms of one
// value that differ in their last digits must not trigger updates of everything behind them, and a
// class that contains itself must not narrow its bounds for ever. So a new bound counts only if the
// largest magnitude falls below a quarter.
bool SaysMore(const Facts& before, const Facts& after) {
  const auto kind = [](const Facts& facts) {
    return std::tuple(facts.never_nan(), facts.values.low > -Interval::kInfinity,
                      facts.values.high < Interval::kInfinity, facts.nonnegative(),
                      facts.positive(), facts.softmax_safe(), facts.tie.has_value());
  };
  return kind(before) != kind(after) || 4 * after.values.magnitude() < before.values.magnitude();
}

// Combines both types; fails if they contradict each other.
absl::StatusOr<model::TensorType> MergedType(const model::TensorType& a,
                                             const model::TensorType& b) {
  // An unknown element type, behind an opaque node, is compatible with any.
  if (model::Compatible(a, b)) return model::Refine(a, b);
  return MakeError(Reason::kInternal,
                   absl::StrCat("union of different types: ", ToString(a), " and ", ToString(b)));
}

}  // namespace

bool TakesTooLongToFold(const OpWord& word, std::span<const model::TensorType* const> inputs,
                        const model::TensorType& output) {
  if (!output.is_static()) return false;
  for (const model::TensorType* const input : inputs) {
    if (input != nullptr && !input->is_static()) return false;
  }
  const model::TensorType* const outputs[] = {&output};
  return eval::Operations(word.name, word.attributes, inputs, outputs) >
         eval::FoldLimits().max_operations;
}

TensorDomain::TensorDomain(bool assume_finite_inputs, const TensorDomain* other)
    : assume_finite_inputs_(assume_finite_inputs), other_(other) {}

OpId TensorDomain::Intern(std::string key, OpWord word) {
  const auto [it, is_new] = word_by_key_.try_emplace(std::move(key), OpId(words_.size()));
  if (is_new) {
    word.kind = KindOfName(word.name);
    words_.push_back(std::make_unique<const OpWord>(std::move(word)));
  }
  return it->second;
}

OpId TensorDomain::Operator(absl::string_view name, model::AttributeMap attributes) {
  OpWord word;
  word.sort = OpWord::Sort::kOperator;
  word.name = std::string(name);
  word.def = ops::FindOp(name);
  word.attributes =
      word.def == nullptr ? std::move(attributes) : WithoutDefaults(*word.def, attributes);
  std::string key = absl::StrCat("op ", name, ToString(word.attributes));
  return Intern(std::move(key), std::move(word));
}

OpId TensorDomain::Input(uint32_t index, TypePair types) {
  OpWord word;
  word.sort = OpWord::Sort::kInput;
  word.name = "Input";
  word.index = index;
  word.types = std::move(types);
  return Intern(absl::StrCat("input ", index), std::move(word));
}

OpId TensorDomain::Constant(const model::Tensor& tensor) {
  OpWord word;
  word.sort = OpWord::Sort::kConstant;
  word.name = "Constant";
  std::string key = absl::StrCat("constant ", tensor.digest().Hex());
  if (word_by_key_.contains(key)) return word_by_key_.at(key);
  if (const OpWord* const known = FindInOther(key)) return Intern(std::move(key), *known);
  word.constant = tensor;
  if (model::IsComputable(tensor.dtype())) word.constant_facts = FactsOfConstant(tensor);
  word.constant_sizes = SizesOfConstant(tensor);
  return Intern(std::move(key), std::move(word));
}

const OpWord* TensorDomain::FindInOther(const std::string& key) const {
  if (other_ == nullptr) return nullptr;
  const auto found = other_->word_by_key_.find(key);
  return found == other_->word_by_key_.end() ? nullptr : &other_->word(found->second);
}

OpId TensorDomain::Absent() {
  OpWord word;
  word.sort = OpWord::Sort::kAbsent;
  word.name = "Absent";
  return Intern("absent", std::move(word));
}

OpId TensorDomain::OpaqueNode(uint32_t node, absl::string_view name) {
  OpWord word;
  word.sort = OpWord::Sort::kOpaque;
  word.name = absl::StrCat("Opaque ", name);
  word.index = node;
  return Intern(absl::StrCat("opaque ", node), std::move(word));
}

OpId TensorDomain::OpaqueOutput(uint32_t node, uint32_t output, TypePair types) {
  OpWord word;
  word.sort = OpWord::Sort::kOutput;
  word.name = "Output";
  word.index = output;
  word.types = std::move(types);
  return Intern(absl::StrCat("output ", node, ":", output), std::move(word));
}

void TensorDomain::Declare(const EGraph& graph, ClassId id, const TypePair& types) {
  ClassData& data = data_[graph.Find(id).value()];
  log_.Save(graph.Find(id), data);
  if (!model::Compatible(data.type, types.type) ||
      !model::Compatible(data.measured, types.measured)) {
    return;
  }
  data.type = model::Refine(data.type, types.type);
  data.measured = model::Refine(data.measured, types.measured);
}

void TensorDomain::DeclareSteps(const EGraph& graph, ClassId id, bool read_by_step) {
  ClassData& data = data_[graph.Find(id).value()];
  log_.Save(graph.Find(id), data);
  data.read_by_step = data.read_by_step.value_or(false) || read_by_step;
}

void TensorDomain::DeclareOutput(const EGraph& graph, ClassId id) {
  ClassData& data = data_[graph.Find(id).value()];
  log_.Save(graph.Find(id), data);
  data.is_output = true;
}

void TensorDomain::AllowOperator(absl::string_view name) { used_by_model_[name] = true; }

KindId TensorDomain::KindOfName(absl::string_view name) {
  return kind_by_name_.try_emplace(name, KindId(kind_by_name_.size())).first->second;
}

std::string TensorDomain::Name(OpId op) const {
  const OpWord& word = this->word(op);
  switch (word.sort) {
    case OpWord::Sort::kInput:
    case OpWord::Sort::kOpaque:
    case OpWord::Sort::kOutput:
      return absl::StrCat(word.name, "#", word.index);
    case OpWord::Sort::kConstant:
      return absl::StrCat("Constant#", word.constant->digest().Hex().substr(0, 8));
    case OpWord::Sort::kOperator:
    case OpWord::Sort::kAbsent:
      break;
  }
  return absl::StrCat(word.name, ToString(word.attributes));
}

std::vector<ops::InferInput> TensorDomain::InferInputs(const EGraph& graph,
                                                       std::span<const ClassId> children) const {
  std::vector<ops::InferInput> inputs(children.size());
  for (size_t i = 0; i < children.size(); ++i) {
    if (!children[i].valid()) continue;
    const ClassData& child = data(graph, children[i]);
    if (child.absent) continue;
    inputs[i] = {&child.type, child.constant ? &*child.constant : nullptr,
                 child.elements ? &*child.elements : nullptr};
  }
  return inputs;
}

absl::StatusOr<ClassId> TensorDomain::Add(EGraph& graph, absl::string_view name,
                                          model::AttributeMap attributes,
                                          std::span<const ClassId> children,
                                          egraph::Origin origin) {
  // Canonicalize works on nodes of a graph: the input with id i stands for children[i].
  model::Node node;
  node.op = std::string(name);
  node.attributes = std::move(attributes);
  for (size_t i = 0; i < children.size(); ++i) {
    const bool absent = !children[i].valid() || data(graph, children[i]).absent;
    node.inputs.push_back(absent ? model::ValueId() : model::ValueId(static_cast<uint32_t>(i)));
  }
  if (ops::FindOp(name) == nullptr) {
    return MakeError(Reason::kInternal, absl::StrCat("no operator '", name, "'"));
  }
  QUOTIENT_RETURN_IF_ERROR(ops::Canonicalize(node, InferInputs(graph, children)));
  std::vector<ClassId> operands;
  for (const model::ValueId input : node.inputs) {
    if (input.valid()) {
      operands.push_back(graph.Find(children[input.value()]));
    } else {
      QUOTIENT_ASSIGN_OR_RETURN(operands.emplace_back(), graph.Add(Absent(), {}, origin));
    }
  }
  if (ops::FindOp(node.op)->commutative && operands.size() == 2 &&
      data(graph, operands[0]).weight_only && !data(graph, operands[1]).weight_only) {
    std::swap(operands[0], operands[1]);
  }
  return graph.Add(Operator(node.op, std::move(node.attributes)), operands, origin);
}

absl::Status TensorDomain::MakeOperator(const EGraph& graph, const OpWord& word,
                                        std::span<const ClassId> children, ClassData& data) const {
  if (word.def == nullptr) {
    return MakeError(Reason::kInternal, absl::StrCat("no operator '", word.name, "'"));
  }
  if (!Allows(*word.def)) {
    return absl::FailedPreconditionError(
        absl::StrCat(word.name, " needs opset ", word.def->since_opset));
  }
  const std::vector<ops::InferInput> inputs = InferInputs(graph, children);
  std::vector<ops::InferInput> measured(children.size());
  std::vector<Facts> children_facts(children.size());
  std::vector<FactInput> facts(children.size());
  std::vector<const model::TensorType*> types(children.size());
  bool numbers_only = true;
  bool weight_only = true;
  for (size_t i = 0; i < children.size(); ++i) {
    const ClassData& child = this->data(graph, children[i]);
    if (child.absent) continue;
    const model::Tensor* constant = child.constant ? &*child.constant : nullptr;
    measured[i] = {&child.measured, constant,
                   child.measured_elements ? &*child.measured_elements : nullptr};
    children_facts[i] = WithCanonicalTie(graph, child.facts);
    facts[i] = {&children_facts[i], &child.type, constant, graph.Find(children[i]).value()};
    types[i] = &child.measured;
    weight_only &= child.weight_only;
    numbers_only &=
        NumbersOnly({child.type, child.measured}) && child.elements == child.measured_elements;
  }
  QUOTIENT_ASSIGN_OR_RETURN(Inferred inferred, Infer(word, inputs));
  if (numbers_only) {
    data.measured = inferred.type;
    data.measured_elements = inferred.elements;
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(Inferred bound, Infer(word, measured));
    data.measured = std::move(bound.type);
    data.measured_elements = std::move(bound.elements);
  }
  const bool folds = weight_only && !TakesTooLongToFold(word, types, data.measured);
  data.weight_only = folds && !word.def->stays_in_model;
  data.kept_constant = folds && word.def->stays_in_model;
  data.facts = FactsOfOperator(*word.def, word.attributes, facts, inferred.type);
  data.type = std::move(inferred.type);
  data.elements = std::move(inferred.elements);
  return absl::OkStatus();
}

absl::Status TensorDomain::Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                                ClassId fresh) {
  const OpWord& word = this->word(op);
  ClassData data;
  switch (word.sort) {
    case OpWord::Sort::kInput:
    case OpWord::Sort::kOutput:
      data.type = word.types.type;
      data.measured = word.types.measured;
      data.facts = word.sort == OpWord::Sort::kInput
                       ? FactsOfInput(data.type, assume_finite_inputs_)
                       : FactsOfAnything(data.type);
      break;
    case OpWord::Sort::kConstant:
      data.type = data.measured = word.constant->type();
      data.constant = word.constant;
      data.constant_sizes = word.constant_sizes;
      data.weight_only = true;
      data.elements = data.measured_elements = ops::ElementsOf(*word.constant);
      data.facts = word.constant_facts;
      break;
    case OpWord::Sort::kAbsent:
      data.absent = true;
      break;
    case OpWord::Sort::kOpaque:
      break;
    case OpWord::Sort::kOperator:
      QUOTIENT_RETURN_IF_ERROR(MakeOperator(graph, word, children, data));
      break;
  }
  if (data_.size() <= fresh.value()) data_.resize(fresh.value() + 1);
  data_[fresh.value()] = std::move(data);
  return absl::OkStatus();
}

absl::StatusOr<bool> TensorDomain::Join(ClassData& kept, const ClassData& other) {
  QUOTIENT_ASSIGN_OR_RETURN(model::TensorType type, MergedType(kept.type, other.type));
  QUOTIENT_ASSIGN_OR_RETURN(model::TensorType measured, MergedType(kept.measured, other.measured));
  if (kept.absent != other.absent) {
    return MakeError(Reason::kInternal, "union of an input left out and a value");
  }
  const Facts facts = Both(kept.facts, other.facts);
  const bool better_known = SaysMore(kept.facts, facts);
  const bool changed =
      type != kept.type || measured != kept.measured || better_known ||
      (!kept.constant && other.constant) || (!kept.weight_only && other.weight_only) ||
      (!kept.kept_constant && other.kept_constant) || (!kept.elements && other.elements) ||
      (!kept.measured_elements && other.measured_elements);
  kept.type = std::move(type);
  kept.measured = std::move(measured);
  if (better_known) kept.facts = facts;
  kept.weight_only |= other.weight_only;
  kept.kept_constant |= other.kept_constant;
  kept.is_output |= other.is_output;
  if (other.read_by_step) {
    kept.read_by_step = kept.read_by_step.value_or(false) || *other.read_by_step;
  }
  if (!kept.constant) {
    kept.constant = other.constant;
    kept.constant_sizes = other.constant_sizes;
  }
  if (!kept.elements) kept.elements = other.elements;
  if (!kept.measured_elements) kept.measured_elements = other.measured_elements;
  return changed;
}

absl::Status TensorDomain::Merge(const EGraph&, ClassId kept, ClassId absorbed) {
  const ClassData before = data_[kept.value()];
  log_.Save(kept, before);
  log_.Save(absorbed, data_[absorbed.value()]);
  const absl::StatusOr<bool> changed = Join(data_[kept.value()], data_[absorbed.value()]);
  if (!changed.ok()) {
    ++refused_unions_;
    return changed.status();
  }
  // Tells the parents of either side what they did not know.
  const absl::StatusOr<bool> other = Join(data_[absorbed.value()], before);
  if (*changed) changed_.push_back(kept);
  if (other.ok() && *other) changed_.push_back(absorbed);
  return absl::OkStatus();
}

absl::Status TensorDomain::Update(const EGraph& graph, ENodeId enode) {
  const auto node = graph.node(enode);
  const OpWord& word = this->word(node.op);
  if (word.sort != OpWord::Sort::kOperator) return absl::OkStatus();
  ClassData news;
  // If inference now fails on better known types, the types inferred before stand. The fault lies
  // with the rule that united the classes, and the tests' oracle must find it.
  if (!MakeOperator(graph, word, node.children, news).ok()) return absl::OkStatus();
  const ClassId cls = graph.class_of(enode);
  log_.Save(cls, data_[cls.value()]);
  const absl::StatusOr<bool> changed = Join(data_[cls.value()], news);
  if (changed.ok() && *changed) changed_.push_back(cls);
  return absl::OkStatus();
}

}  // namespace quotient::domain
