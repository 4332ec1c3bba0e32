#include "core/prove/equations.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/prove/arithmetic.h"

namespace quotient::prove {
namespace {

using domain::OpWord;
using domain::TensorEGraph;
using egraph::ClassId;
using egraph::ENodeId;

// In either arithmetic.
template <typename Arithmetic>
class EquationsIn final : public Equations {
 public:
  using Value = typename Arithmetic::Value;
  using Operand = typename Arithmetic::Operand;

  EquationsIn(const TensorEGraph& tensors, const model::Graph& bound, Arithmetic arithmetic,
              uint64_t seed)
      : tensors_(tensors), graph_(*tensors.egraph), arithmetic_(std::move(arithmetic)), rng_(seed) {
    for (const model::ValueId input : bound.inputs) {
      input_types_.push_back(bound.value(input).type);
    }
    ComputeAll();
    if constexpr (Arithmetic::kRounds) SampleSensitivity();
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
    agreement_.rounding = before_.rounding;
    // A new class may have taken in an old one.
    values_.resize(graph_.class_bound());
    sensitivities_.resize(graph_.class_bound());
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
      JoinSensitivity(sensitivities_[i], sensitivities_[cls.value()]);
      if (kept.has_value()) {
        Compare(cls, *values_[i], [&] {
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
      if (agreement_.undefined.empty()) agreement_.undefined = before_.undefined;
      if (agreement_.gap.empty()) agreement_.gap = before_.gap;
      if (agreement_.gap.empty() && agreement_.undefined.empty()) {
        agreement_.gap = "a value is not known";
      }
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
    sensitivities_.resize(graph_.class_bound());
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

  // Nullopt if an operand has no value among `values`, which are by ClassId.
  std::optional<std::vector<Operand>> OperandsOf(
      ENodeId enode, const std::vector<std::optional<Value>>& values) const {
    std::vector<Operand> operands;
    for (const ClassId child : graph_.node(enode).children) {
      const std::optional<Value>& value = values[graph_.Find(child).value()];
      const domain::ClassData& data = tensors_.domain->data(graph_, child);
      if (!data.absent && !value) return std::nullopt;
      operands.push_back(data.absent ? Operand() : Operand{&*value, data.type.dtype});
    }
    return operands;
  }

  // Returns whether the e-node was done now.
  bool Compute(ClassId cls, ENodeId enode) {
    const std::optional<std::vector<Operand>> operands = OperandsOf(enode, values_);
    if (!operands) return false;
    done_[enode.value()] = true;
    const OpWord& word = tensors_.domain->word(graph_.node(enode).op);
    if (word.sort == OpWord::Sort::kAbsent) return true;
    const absl::StatusOr<Value> value = ValueOf(word, *operands);
    if (!value.ok()) {
      const bool by_rule = graph_.origin(enode) != egraph::kInputOrigin;
      if (by_rule && !absl::IsUnimplemented(value.status())) {
        failed_.emplace(enode, value.status().message());
      }
      std::string& reason =
          absl::IsFailedPrecondition(value.status()) ? agreement_.undefined : agreement_.gap;
      reason = std::string(value.status().message());
      return true;
    }
    std::optional<Value>& kept = values_[cls.value()];
    if (!kept.has_value()) {
      kept = *value;
      return true;
    }
    Compare(cls, *value, [&] { return Text(enode); });
    return true;
  }

  // Before anything was rewritten, so each class is one value.
  void SampleSensitivity() {
    for (int i = 0; i < arithmetic_.perturbations(); ++i) {
      const std::vector<std::optional<Value>> perturbed = PerturbedValues();
      for (size_t cls = 0; cls < values_.size(); ++cls) {
        if (!values_[cls] || !perturbed[cls]) continue;
        NoteSensitivity(*values_[cls], *perturbed[cls], sensitivities_[cls]);
      }
    }
  }

  // The values of all classes if every input and every result is perturbed.
  std::vector<std::optional<Value>> PerturbedValues() {
    std::vector<std::optional<Value>> perturbed(values_.size());
    for (bool progress = true; progress;) {
      progress = false;
      for (const ClassId cls : graph_.classes()) {
        for (const ENodeId enode : graph_.nodes(cls)) {
          if (perturbed[cls.value()] || !values_[cls.value()]) break;
          perturbed[cls.value()] = PerturbedValue(cls, enode, perturbed);
          progress |= perturbed[cls.value()].has_value();
        }
      }
    }
    return perturbed;
  }

  std::optional<Value> PerturbedValue(ClassId cls, ENodeId enode,
                                      const std::vector<std::optional<Value>>& perturbed) {
    const OpWord& word = tensors_.domain->word(graph_.node(enode).op);
    if (word.sort == OpWord::Sort::kConstant) return values_[cls.value()];
    if (word.sort == OpWord::Sort::kInput) return Perturbed(*values_[cls.value()], rng_);
    const std::optional<std::vector<Operand>> operands = OperandsOf(enode, perturbed);
    if (!operands) return std::nullopt;
    const absl::StatusOr<Value> value = ValueOf(word, *operands);
    if (!value.ok()) return std::nullopt;
    return Perturbed(*value, rng_);
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

  // With the value of the class.
  template <typename What>
  void Compare(ClassId cls, const Value& other, const What& what) {
    const Value& kept = *values_[cls.value()];
    const Sensitivity& sensitivity = sensitivities_[cls.value()];
    agreement_.compared += Arithmetic::SaysSomething(kept, sensitivity);
    const double error = arithmetic_.Error(kept, other, sensitivity);
    if (error <= arithmetic_.Tolerance(tensors_.domain->data(graph_, cls).type.dtype)) {
      agreement_.largest_error = std::max(agreement_.largest_error, error);
    } else if (agreement_.difference.empty()) {
      agreement_.difference = what();
      agreement_.distance = error;
    }
  }

  // A value of the original graph that had this class, with the operator that makes it: "z (Abs)".
  std::string NameOf(ClassId id) const {
    const auto& classes = tensors_.class_of_value;
    const auto found = std::ranges::find(classes, id);
    if (found == classes.end()) return absl::StrCat("class ", id.value());
    const model::Value& value = tensors_.original.values[found - classes.begin()];
    if (!value.producer.valid()) return value.name;
    return absl::StrCat(value.name, " (", tensors_.original.node(value.producer).op, ")");
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
  const Arithmetic arithmetic_;
  Rng rng_;
  std::vector<std::optional<Value>> values_;  // By ClassId.
  std::vector<Sensitivity> sensitivities_;    // By ClassId; empty if nothing is rounded.
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
  return std::make_unique<EquationsIn<FieldArithmetic>>(tensors, bound, FieldArithmetic(), seed);
}

std::unique_ptr<Equations> EquationsInFloats(const TensorEGraph& tensors, const model::Graph& bound,
                                             Point point) {
  const uint64_t seed = point.seed;
  return std::make_unique<EquationsIn<FloatArithmetic>>(
      tensors, bound, FloatArithmetic(bound, std::move(point)), seed);
}

}  // namespace quotient::prove
