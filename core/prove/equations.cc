#include "core/prove/equations.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/model/dtype.h"
#include "core/ops/op.h"
#include "core/prove/operation.h"

namespace quotient::prove {
namespace {

using domain::OpWord;
using domain::TensorEGraph;
using egraph::ClassId;
using egraph::ENodeId;

// An operand of an operator; null if it is left out.
template <typename Value>
struct OperandOf {
  const Value* value = nullptr;
  model::DType dtype = model::DType::kUndefined;
};

// --- Field elements as values

class FieldArithmetic {
 public:
  using Value = FieldTensor;
  using Operand = OperandOf<Value>;

  static absl::StatusOr<Value> OfConstant(const model::Tensor& tensor) {
    Value value{tensor.dims(), {}};
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const std::optional<Element> element =
          model::IsFloat(tensor.dtype()) || tensor.dtype() == model::DType::kBool
              ? FromFloat(tensor.GetDouble(i))
              : FromInteger(tensor.GetInt(i));
      if (!element) return absl::FailedPreconditionError("a constant is infinite or NaN");
      value.elements.push_back(*element);
    }
    return value;
  }
  static Value OfInput(const model::TensorType& type, Rng& rng) {
    Value value{type.dims(), {}};
    for (int64_t i = 0; i < type.elements(); ++i) {
      constexpr uint64_t kIntegers = 3;
      const bool is_bool = type.dtype == model::DType::kBool;
      value.elements.push_back(
          rng.Below(model::IsFloat(type.dtype) ? kPrime : (is_bool ? 2 : kIntegers)));
    }
    return value;
  }
  absl::StatusOr<Value> OfOperator(const OpWord& word, const std::vector<Operand>& operands,
                                   Agreement& agreement) const {
    QUOTIENT_ASSIGN_OR_RETURN(const Call call, CallOf(word, operands));
    if (call.node.op == "Cast") return Cast(*call.inputs[0], call.type, agreement);
    return Evaluate({call.node.op, call.node.attributes, call.inputs, call.type.dims(),
                     agreement.functions, call.types});
  }
  static const Ints& DimsOf(const Value& value) { return value.dims; }
  static double Error(const Value& a, const Value& b) { return a == b ? 0 : INFINITY; }
  static double Tolerance(const Value&) { return 0; }
  static bool SaysSomething(const Value& value) { return !value.elements.empty(); }
  // An element of the field may lack a value (1 / 0) where the number that it stands for has one.
  static constexpr bool kFailsOnlyAsModelsDo = false;

 private:
  // An operator in canonical form for the values of its operands.
  struct Call {
    model::Node node;
    std::vector<const Value*> inputs;  // Null where one is left out.
    std::vector<model::DType> types;   // Of the inputs.
    model::TensorType type;            // Of the output; static.
  };

  // Sizes that an operand computes, such as the target of a Reshape, become attributes.
  static absl::StatusOr<Call> CallOf(const OpWord& word, const std::vector<Operand>& operands) {
    std::vector<model::TensorType> types(operands.size());
    std::vector<std::optional<model::Tensor>> parameters(operands.size());
    std::vector<ops::InferInput> inputs(operands.size());
    Call call;
    call.node.op = word.name;
    call.node.attributes = word.attributes;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool present = operands[i].value != nullptr;
      call.node.inputs.push_back(present ? model::ValueId(static_cast<uint32_t>(i))
                                         : model::ValueId());
      if (!present) continue;
      types[i] = model::StaticType(operands[i].dtype, operands[i].value->dims);
      if (IsIntegerParameter(*word.def, i)) parameters[i] = Integers(*operands[i].value, types[i]);
      inputs[i] = {&types[i], parameters[i] ? &*parameters[i] : nullptr, nullptr};
    }
    QUOTIENT_RETURN_IF_ERROR(ops::Canonicalize(call.node, inputs));
    std::vector<model::ValueId>& ids = call.node.inputs;
    while (!ids.empty() && !ids.back().valid()) ids.pop_back();
    std::vector<ops::InferInput> left;
    for (const model::ValueId id : ids) {
      call.inputs.push_back(id.valid() ? operands[id.value()].value : nullptr);
      call.types.push_back(id.valid() ? operands[id.value()].dtype : model::DType::kUndefined);
      left.push_back(id.valid() ? inputs[id.value()] : ops::InferInput());
    }
    QUOTIENT_ASSIGN_OR_RETURN(
        ops::InferResult inferred,
        ops::InferNode(*ops::FindOp(call.node.op), {call.node.attributes, left, 1}));
    if (inferred.types.empty() || !inferred.types[0].is_static()) {
      // A Reshape that infers a size next to an empty axis.
      return absl::FailedPreconditionError("a shape is not known");
    }
    call.type = std::move(inferred.types[0]);
    return call;
  }

  static bool IsIntegerParameter(const ops::OpDef& def, size_t input) {
    using Kind = ops::Parameter::Kind;
    return std::ranges::any_of(def.parameters, [&](const ops::Parameter& parameter) {
      return parameter.input == static_cast<int>(input) &&
             (parameter.kind == Kind::kInts || parameter.kind == Kind::kInt);
    });
  }

  static model::Tensor Integers(const Value& value, const model::TensorType& type) {
    std::span<std::byte> buffer;
    const model::Tensor tensor = model::Tensor::Allocate(type.dtype, value.dims, &buffer);
    std::vector<int64_t> integers;
    for (const Element element : value.elements) integers.push_back(ToInteger(element));
    model::Store(type.dtype, buffer, 0, std::span<const int64_t>(integers));
    return tensor;
  }

  // To floats, every value keeps its own: rounding is not what is looked for here. To other types
  // it is a function that is left open.
  static Value Cast(const Value& value, const model::TensorType& type, Agreement& agreement) {
    if (model::IsFloat(type.dtype)) return value;
    const std::string function = absl::StrCat("Cast to ", model::DTypeName(type.dtype));
    agreement.functions.insert(function);
    Value cast = value;
    for (Element& each : cast.elements) {
      each = Uninterpreted(function, std::span(&each, 1));
      if (type.dtype == model::DType::kBool) each &= 1;
    }
    return cast;
  }
};

// --- Floats as values

class FloatArithmetic {
 public:
  using Value = model::Tensor;
  using Operand = OperandOf<Value>;

  static absl::StatusOr<Value> OfConstant(const model::Tensor& tensor) { return tensor; }
  static Value OfInput(const model::TensorType& type, Rng& rng) {
    std::span<std::byte> buffer;
    const Value value = Value::Allocate(type.dtype, type.dims(), &buffer);
    std::vector<double> elements(value.elements());
    for (double& each : elements) {
      each = model::IsFloat(type.dtype)
                 ? rng.Uniform(-1, 1)
                 : static_cast<double>(rng.Below(type.dtype == model::DType::kBool ? 2 : 3));
    }
    model::Store(type.dtype, buffer, 0, std::span<const double>(elements));
    return value;
  }
  absl::StatusOr<Value> OfOperator(const OpWord& word, const std::vector<Operand>& operands,
                                   Agreement&) const {
    model::Node call;
    call.op = word.name;
    call.attributes = word.attributes;
    call.outputs = {model::ValueId(0)};
    std::vector<const Value*> inputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      inputs.push_back(operands[i].value);
      call.inputs.push_back(inputs[i] == nullptr ? model::ValueId()
                                                 : model::ValueId(static_cast<uint32_t>(i + 1)));
    }
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Value> outputs, ops::EvaluateNode(call, inputs, 1));
    return outputs[0];
  }
  static const Ints& DimsOf(const Value& value) { return value.dims(); }
  static constexpr bool kFailsOnlyAsModelsDo = true;
  static double Error(const Value& a, const Value& b) {
    if (a.dims() != b.dims()) return INFINITY;
    double scale = 0;
    double difference = 0;
    for (int64_t i = 0; i < a.elements(); ++i) {
      const double x = a.GetDouble(i);
      const double y = b.GetDouble(i);
      if (std::isnan(x) != std::isnan(y)) return INFINITY;
      if (std::isnan(x)) continue;
      if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
      if (x == y) continue;
      difference = std::max(difference, std::abs(x - y));
    }
    return difference == 0 ? 0 : difference / std::max(scale, 1e-30);
  }
  static bool SaysSomething(const Value& value) {
    for (int64_t i = 0; i < value.elements(); ++i) {
      if (!std::isnan(value.GetDouble(i))) return true;
    }
    return false;
  }
  // A wrong rule is off by far more.
  static double Tolerance(const Value& value) {
    switch (value.dtype()) {
      case model::DType::kFloat16:
      case model::DType::kBfloat16:
        return 3e-2;
      case model::DType::kFloat32:
        return 1e-4;
      case model::DType::kFloat64:
        return 1e-9;
      default:
        return 0;
    }
  }
};

// --- Checking, with either

template <typename Arithmetic>
class EquationsIn final : public Equations {
 public:
  using Value = typename Arithmetic::Value;
  using Operand = typename Arithmetic::Operand;

  EquationsIn(const TensorEGraph& tensors, const model::Graph& bound, uint64_t seed)
      : tensors_(tensors), graph_(*tensors.egraph), rng_(seed) {
    for (const model::ValueId input : bound.inputs) {
      input_types_.push_back(bound.value(input).type);
    }
    ComputeAll();
    before_ = std::exchange(agreement_, {});
    num_before_ = values_.size();
    for (uint32_t i = 0; i < num_before_; ++i) {
      was_canonical_.push_back(graph_.Find(ClassId(i)) == ClassId(i));
      had_value_.push_back(values_[i].has_value());
    }
  }

  Agreement Check() override {
    agreement_ = {};
    agreement_.functions = before_.functions;
    values_.resize(graph_.class_bound());  // A new class may have taken in an old one.
    JoinMerged();
    ComputeAll();
    NoteWhatFails();
    NoteWrongTypes();
    NoteWhatHasNoValue();
    return std::move(agreement_);
  }

 private:
  // Classes that had values and are one now must have had the same.
  void JoinMerged() {
    for (uint32_t i = 0; i < num_before_; ++i) {
      const ClassId cls = graph_.Find(ClassId(i));
      if (cls == ClassId(i) || !values_[i]) continue;
      std::optional<Value>& kept = values_[cls.value()];
      if (kept.has_value()) {
        Compare(*kept, *values_[i], [&] {
          return absl::StrCat(NameOf(cls), " and ", NameOf(ClassId(i)), " became equal");
        });
      } else {
        kept = values_[i];
      }
    }
  }

  // Notes what could not be compared: a rule added an e-node to a class without a value, or made
  // such a class equal to another one, or added an e-node whose operands have no values.
  void NoteWhatHasNoValue() {
    std::vector<int> old_classes(graph_.class_bound(), 0);  // How many each class is made of.
    std::vector<bool> lacked(graph_.class_bound(), false);  // Whether one of them had no value.
    for (uint32_t i = 0; i < num_before_; ++i) {
      if (!was_canonical_[i] || tensors_.domain->data(graph_, ClassId(i)).absent) continue;
      const uint32_t now = graph_.Find(ClassId(i)).value();
      ++old_classes[now];
      if (!had_value_[i]) lacked[now] = true;
    }
    for (const ClassId cls : graph_.classes()) {
      bool not_compared = lacked[cls.value()] && old_classes[cls.value()] > 1;
      for (const ENodeId enode : graph_.nodes(cls)) {
        if (graph_.origin(enode) == egraph::kInputOrigin) continue;
        not_compared |= lacked[cls.value()] || !done_[enode.value()];
      }
      if (!not_compared) continue;
      agreement_.undefined |= before_.undefined;
      if (agreement_.gap.empty()) agreement_.gap = before_.gap;
      if (agreement_.gap.empty() && !agreement_.undefined) agreement_.gap = "a value is not known";
    }
  }

  // Notes an e-node of a class that had a value, if the e-node fails, or what it is made from does.
  void NoteWhatFails() {
    if (!Arithmetic::kFailsOnlyAsModelsDo || failed_.empty()) return;
    const auto has_value = [&](ClassId cls) {
      return values_[graph_.Find(cls).value()].has_value();
    };
    for (bool progress = true; progress;) {
      progress = false;
      for (const ClassId cls : graph_.classes()) {
        for (const ENodeId enode : graph_.nodes(cls)) {
          if (done_[enode.value()] || failed_.contains(enode)) continue;
          for (const ClassId child : graph_.node(enode).children) {
            const auto& forms = graph_.nodes(graph_.Find(child));
            const auto form =
                std::ranges::find_if(forms, [&](ENodeId each) { return failed_.contains(each); });
            if (has_value(child) || form == forms.end()) continue;
            failed_.emplace(enode, failed_.at(*form));
            progress = true;
            break;
          }
        }
      }
    }
    for (const ClassId cls : graph_.classes()) {
      if (!has_value(cls)) continue;
      for (const ENodeId enode : graph_.nodes(cls)) {
        const auto failure = failed_.find(enode);
        if (failure == failed_.end() || !agreement_.difference.empty()) continue;
        agreement_.difference = absl::StrCat(Text(enode), " fails: ", failure->second);
      }
    }
  }

  // Notes a class whose type has another size than its value, or gives one symbol two sizes.
  void NoteWrongTypes() {
    std::map<std::string, int64_t> sizes;
    for (const ClassId cls : graph_.classes()) {
      const std::optional<Value>& value = values_[cls.value()];
      const model::TensorType& type = tensors_.domain->data(graph_, cls).type;
      if (!value || !type.has_rank() || !agreement_.difference.empty()) continue;
      const Ints& dims = Arithmetic::DimsOf(*value);
      bool fits = static_cast<size_t>(type.rank()) == dims.size();
      for (int axis = 0; fits && axis < type.rank(); ++axis) {
        const model::Dim& dim = type.dim(axis);
        if (dim.is_number()) fits = dim.Is(dims[axis]);
        if (dim.is_symbol())
          fits = sizes.emplace(dim.symbol(), dims[axis]).first->second == dims[axis];
      }
      if (fits) continue;
      agreement_.difference = absl::StrCat(NameOf(cls), " is taken to be ", ToString(type),
                                           ", but is [", absl::StrJoin(dims, ","), "]");
    }
  }

  // Computes every e-node whose children have values, until nothing changes.
  void ComputeAll() {
    values_.resize(graph_.class_bound());
    done_.resize(graph_.enode_bound(), false);
    for (bool progress = true; progress;) {
      progress = false;
      for (const ClassId cls : graph_.classes()) {
        for (const ENodeId enode : graph_.nodes(cls)) {
          if (!done_[enode.value()]) progress |= Compute(cls, enode);
        }
      }
    }
  }

  // Returns whether the e-node was done now.
  bool Compute(ClassId cls, ENodeId enode) {
    std::vector<Operand> operands;
    for (const ClassId child : graph_.node(enode).children) {
      const std::optional<Value>& value = values_[graph_.Find(child).value()];
      const domain::ClassData& data = tensors_.domain->data(graph_, child);
      if (!data.absent && !value) return false;
      operands.push_back(data.absent ? Operand() : Operand{&*value, data.type.dtype});
    }
    done_[enode.value()] = true;
    const OpWord& word = tensors_.domain->word(graph_.node(enode).op);
    if (word.sort == OpWord::Sort::kAbsent) return true;
    const absl::StatusOr<Value> value = ValueOf(word, operands);
    if (!value.ok()) {
      const bool by_rule = graph_.origin(enode) != egraph::kInputOrigin;
      if (by_rule && !absl::IsUnimplemented(value.status())) {
        failed_.emplace(enode, value.status().message());
      }
      if (absl::IsFailedPrecondition(value.status())) {
        agreement_.undefined = true;
      } else {
        agreement_.gap = std::string(value.status().message());
      }
      return true;
    }
    std::optional<Value>& kept = values_[cls.value()];
    if (!kept.has_value()) {
      kept = *value;
      return true;
    }
    Compare(*kept, *value, [&] { return Text(enode); });
    return true;
  }

  absl::StatusOr<Value> ValueOf(const OpWord& word, const std::vector<Operand>& operands) {
    switch (word.sort) {
      case OpWord::Sort::kConstant:
        return arithmetic_.OfConstant(*word.constant);
      case OpWord::Sort::kInput:
        return arithmetic_.OfInput(input_types_[word.index], rng_);
      case OpWord::Sort::kOperator:
        return arithmetic_.OfOperator(word, operands, agreement_);
      default:
        return absl::UnimplementedError(absl::StrCat(word.name, " is opaque"));
    }
  }

  template <typename What>
  void Compare(const Value& a, const Value& b, const What& what) {
    agreement_.compared += arithmetic_.SaysSomething(a);
    const double error = arithmetic_.Error(a, b);
    if (error <= arithmetic_.Tolerance(a)) {
      agreement_.largest_error = std::max(agreement_.largest_error, error);
    } else if (agreement_.difference.empty()) {
      agreement_.difference = what();
    }
  }

  // A value of the original graph that had this class.
  std::string NameOf(ClassId id) const {
    const auto& classes = tensors_.class_of_value;
    const auto found = std::ranges::find(classes, id);
    if (found == classes.end()) return absl::StrCat("class ", id.value());
    return tensors_.original.values[found - classes.begin()].name;
  }

  std::string Text(ENodeId enode) const {
    std::string text = absl::StrCat(tensors_.domain->Name(graph_.node(enode).op), "(");
    absl::string_view comma;
    for (const ClassId child : graph_.node(enode).children) {
      absl::StrAppend(&text, comma, ToString(tensors_.domain->data(graph_, child).type));
      comma = ", ";
    }
    return absl::StrCat(text, ")");
  }

  const TensorEGraph& tensors_;
  const egraph::EGraph& graph_;
  Rng rng_;
  const Arithmetic arithmetic_{};
  std::vector<std::optional<Value>> values_;  // By ClassId.
  std::vector<bool> done_;                    // By ENodeId.
  std::map<ENodeId, std::string> failed_;     // Those that rules added, with what is wrong.
  std::vector<model::TensorType> input_types_;
  Agreement agreement_;

  // --- Before anything was rewritten
  Agreement before_;
  size_t num_before_ = 0;            // Number of classes.
  std::vector<bool> was_canonical_;  // By ClassId, of those.
  std::vector<bool> had_value_;      // By ClassId, of those.
};

}  // namespace

std::unique_ptr<Equations> EquationsInField(const TensorEGraph& tensors, const model::Graph& bound,
                                            uint64_t seed) {
  return std::make_unique<EquationsIn<FieldArithmetic>>(tensors, bound, seed);
}

std::unique_ptr<Equations> EquationsInFloats(const TensorEGraph& tensors, const model::Graph& bound,
                                             uint64_t seed) {
  return std::make_unique<EquationsIn<FloatArithmetic>>(tensors, bound, seed);
}

}  // namespace quotient::prove
