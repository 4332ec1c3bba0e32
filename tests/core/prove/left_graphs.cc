#include "tests/core/prove/left_graphs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/generate/words.h"
#include "core/model/dtype.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "core/prove/symbols.h"

namespace quotient::prove {
namespace {

using egraph::Term;
using model::DType;
using model::Ints;
using model::ValueId;

// Operands that have another type of elements than most.
struct OddOperand {
  const char* op;
  size_t position;
  DType dtype;
};
constexpr size_t kEach = 99;  // Any position.
constexpr OddOperand kOddOperands[] = {
    {"And", kEach, DType::kBool},
    {"Or", kEach, DType::kBool},
    {"Xor", kEach, DType::kBool},
    {"Not", kEach, DType::kBool},
    {"Where", 0, DType::kBool},
    {"Gather", 1, DType::kInt64},
    {"GatherElements", 1, DType::kInt64},
    {"DequantizeLinear", 0, DType::kInt8},
    {"DequantizeLinear", 2, DType::kInt8},
    {"QuantizeLinear", 2, DType::kInt8},
};

std::optional<DType> OddTypeOf(absl::string_view op, size_t position) {
  for (const OddOperand& odd : kOddOperands) {
    const bool is_there = odd.position == kEach || odd.position == position;
    if (is_there && op == odd.op) return odd.dtype;
  }
  return std::nullopt;
}

class Draw {
 public:
  Draw(const egraph::RuleText& rule, const AttributeChoices& choices, Rng& rng)
      : rule_(rule), choices_(choices), rng_(rng) {
    constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kInt64,
                                DType::kBool};
    main_type_ = OneIn(4) ? kTypes[rng_.Below(std::size(kTypes))] : DType::kFloat32;
    constants_ = static_cast<double>(rng_.Below(4)) / 4;
    const size_t num_sizes = 1 + rng_.Below(3);
    for (size_t i = 0; i < num_sizes; ++i)
      sizes_.push_back(1 + static_cast<int64_t>(rng_.Below(6)));
    base_ = RandomDims();
    for (const egraph::GuardText& guard : rule_.guards) ReadHint(guard);
    graph_.name = "g";
  }

  std::optional<model::Graph> Run() {
    // A root that names its value comes first, so that others find the name.
    std::vector<size_t> order(rule_.left.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_partition(order, [&](size_t i) { return rule_.left[i].size() > 1; });
    std::vector<ValueId> roots(order.size());
    for (const size_t i : order) {
      const std::optional<ValueId> root = Root(rule_.left[i]);
      if (!root) return std::nullopt;
      roots[i] = *root;
    }
    graph_.outputs = std::move(roots);
    if (!ops::InferTypes(graph_).ok() || !IsStatic(graph_)) return std::nullopt;
    return std::move(graph_);
  }

 private:
  bool OneIn(uint64_t count) { return rng_.Below(count) == 0; }
  int64_t RandomSize() { return sizes_[rng_.Below(sizes_.size())]; }
  Ints RandomDims() {
    constexpr int kRanks[] = {0, 1, 2, 2, 2, 3, 3, 4, 4, 4};
    Ints dims(kRanks[rng_.Below(std::size(kRanks))]);
    for (int64_t& dim : dims) dim = RandomSize();
    return dims;
  }

  // What is mostly true of a variable, by the guards that ask about it.
  struct Hint {
    std::optional<bool> is_constant;
    std::optional<double> number;  // Of all elements of the constant.
    std::optional<int> rank;
  };

  void ReadHint(const egraph::GuardText& guard) {
    if (guard.negated || guard.arguments.empty()) return;
    if (guard.arguments[0].sort != Term::Sort::kVariable) return;
    Hint& hint = hints_[guard.arguments[0].name];
    const absl::string_view name = guard.name;
    if (name == "activation") hint.is_constant = false;
    if (name == "weight" || name == "constant" || name == "is" || name == "shift" ||
        name == "factor" || name == "early_factor" || name == "near_one" || name == "invertible") {
      hint.is_constant = true;
    }
    if (guard.arguments.size() < 2 || guard.arguments[1].sort != Term::Sort::kWord) return;
    double number;
    if (!absl::SimpleAtod(guard.arguments[1].name, &number)) return;
    if (name == "is") hint.number = number;
    if (name == "has_rank") hint.rank = static_cast<int>(std::clamp(number, 0.0, 6.0));
  }

  // Equated terms are one value: at most one of them has an operator, the others are its names.
  std::optional<ValueId> Root(const std::vector<Term>& equated) {
    const auto is_variable = [](const Term& term) { return term.sort == Term::Sort::kVariable; };
    const auto made = std::ranges::find_if_not(equated, is_variable);
    const Term& term = made == equated.end() ? equated[0] : *made;
    const std::optional<ValueId> value = Value(term, "", 0);
    if (!value) return std::nullopt;
    for (const Term& other : equated) {
      if (&other == &term) continue;
      if (!is_variable(other) || !variables_.emplace(other.name, *value).second) {
        return std::nullopt;
      }
    }
    return value;
  }

  // The value of a term that is operand `position` of `reader`.
  std::optional<ValueId> Value(const Term& term, absl::string_view reader, size_t position) {
    if (term.repeated || term.sort == Term::Sort::kWord) return std::nullopt;
    if (term.sort == Term::Sort::kVariable) {
      const auto known = variables_.find(term.name);
      if (known != variables_.end()) return known->second;
      const ValueId value = NewVariable(term.name, reader, position);
      variables_.emplace(term.name, value);
      return value;
    }
    std::vector<ValueId> operands;
    for (const Term& child : term.children) {
      if (child.repeated && child.sort == Term::Sort::kVariable) {
        AddList(child.name, term.name, operands);
        continue;
      }
      const std::optional<ValueId> operand = Value(child, term.name, operands.size());
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    const ops::OpDef* const def = ops::FindOp(term.name);
    const auto count = static_cast<int>(operands.size());
    if (def == nullptr || (def->max_inputs >= 0 && count > def->max_inputs)) return std::nullopt;
    const std::optional<model::AttributeMap> attributes = AttributesOf(term);
    if (!attributes) return std::nullopt;
    return graph_.AddOp(term.name, std::move(operands), *attributes,
                        absl::StrCat("t", graph_.nodes.size()));
  }

  void AddList(const std::string& name, const std::string& reader, std::vector<ValueId>& operands) {
    const size_t count = rng_.Below(4);
    for (size_t i = 0; i < count; ++i) {
      operands.push_back(NewVariable(absl::StrCat(name, "_", i), reader, operands.size()));
    }
  }

  ValueId NewVariable(const std::string& name, absl::string_view reader, size_t position) {
    const auto found = hints_.find(name);
    const Hint hint = found == hints_.end() || OneIn(5) ? Hint() : found->second;
    Ints dims = VariableDims();
    if (hint.rank && std::ssize(dims) != *hint.rank) {
      dims.resize(static_cast<size_t>(*hint.rank));
      for (int64_t& dim : dims) dim = RandomSize();
    }
    DType dtype = OddTypeOf(reader, position).value_or(main_type_);
    const bool is_constant = hint.is_constant.value_or(rng_.Uniform(0, 1) < constants_);
    if (!is_constant) return graph_.AddInput(name, model::StaticType(dtype, std::move(dims)));
    return graph_.AddConstant(name, Constant(dtype, std::move(dims), hint.number));
  }

  // Often those of the other variables, or what can be broadcast to them.
  Ints VariableDims() {
    if (OneIn(2)) return base_;
    if (OneIn(2)) return RandomDims();
    const size_t dropped = rng_.Below(base_.size() + 1);
    Ints dims(base_.begin() + static_cast<std::ptrdiff_t>(dropped), base_.end());
    for (int64_t& dim : dims) {
      if (OneIn(3)) dim = 1;
    }
    return dims;
  }

  model::Tensor Constant(DType dtype, Ints dims, std::optional<double> number) {
    constexpr double kNumbers[] = {0, 1, -1, 0.5, 2};
    if (!number && OneIn(2)) number = kNumbers[rng_.Below(std::size(kNumbers))];
    std::span<std::byte> buffer;
    const model::Tensor tensor = model::Tensor::Allocate(dtype, std::move(dims), &buffer);
    std::vector<double> elements(static_cast<size_t>(tensor.elements()));
    for (double& each : elements) {
      each = number.value_or(model::IsFloat(dtype) ? rng_.Uniform(-1, 1)
                                                   : static_cast<double>(rng_.Below(2)));
    }
    model::Store(dtype, buffer, 0, std::span<const double>(elements));
    return tensor;
  }

  std::optional<model::AttributeMap> AttributesOf(const Term& term) {
    if (term.brackets == Term::Brackets::kText) {
      auto parsed = model::ParseAttributes(absl::StrCat("{", term.attributes, "}"));
      if (!parsed.ok()) return std::nullopt;
      return *std::move(parsed);
    }
    if (term.brackets == Term::Brackets::kVariable) {
      const auto [word, is_new] = words_.try_emplace(term.attributes);
      if (is_new) word->second = RandomAttributes(term.name);
      return word->second;
    }
    return RandomAttributes(term.name);
  }

  model::AttributeMap RandomAttributes(const std::string& op) {
    const auto found = choices_.find(op);
    if (found == choices_.end() || OneIn(5)) return {};
    return found->second[rng_.Below(found->second.size())];
  }

  const egraph::RuleText& rule_;
  const AttributeChoices& choices_;
  Rng& rng_;

  // --- Drawn once for the whole graph
  DType main_type_ = DType::kFloat32;
  double constants_ = 0;               // The share of variables that are constants.
  Ints sizes_;                         // What dimensions are drawn from.
  Ints base_;                          // The dimensions that most variables have.
  std::map<std::string, Hint> hints_;  // By variable.

  model::Graph graph_;
  std::map<std::string, ValueId> variables_;
  std::map<std::string, model::AttributeMap> words_;  // By variable of an operator word.
};

}  // namespace

AttributeChoices AttributesIn(std::span<const model::Graph> graphs) {
  AttributeChoices choices;
  for (const ops::OpDef* const op : ops::AllOps()) {
    std::vector<model::AttributeMap> known = generate::AttributesToTry(op->name);
    if (!known.empty()) choices[op->name] = std::move(known);
  }
  for (const model::Graph& graph : graphs) {
    for (const model::Node& node : graph.nodes) {
      std::vector<model::AttributeMap>& known = choices[node.op];
      if (std::ranges::find(known, node.attributes) == known.end())
        known.push_back(node.attributes);
    }
  }
  return choices;
}

std::optional<model::Graph> DrawLeft(const egraph::RuleText& rule, const AttributeChoices& choices,
                                     Rng& rng) {
  return Draw(rule, choices, rng).Run();
}

}  // namespace quotient::prove
