#pragma once

// TensorDomain gives meaning to the operator words and classes of a tensor e-graph. The e-graph
// uses it as its OpTable (operator words) and as its Analysis (types, constants and facts of
// classes).
//
// An e-node is one ONNX operator with one output; its attributes are part of the interned word.
// Leaves are graph inputs, constants (equal content gives equal words) and one "absent" leaf for
// optional inputs that are left out. An opaque node has a word of its own, so that it never merges
// with another, and a projection word for each output.
//
// A class has two types: `type` is that of the model and may have symbols; `measured` is the same
// with every symbol bound to a number for measuring. Rules look only at `type`, so that what they
// build is right for every binding; costs use `measured`.

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/domain/facts.h"
#include "core/egraph/class_log.h"
#include "core/egraph/egraph.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"
#include "core/ops/op.h"

namespace quotient::domain {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::KindId;
using egraph::OpId;

// The two types of one value.
struct TypePair {
  model::TensorType type;
  model::TensorType measured;
};

struct OpWord {
  enum class Sort : uint8_t {
    kOperator,  // A row of the operator table, with attributes.
    kInput,     // `index` is the position among the graph's inputs.
    kConstant,  // `constant` is its value.
    kAbsent,    // An optional input that is left out.
    kOpaque,    // `index` is a NodeId of the original graph; its class has no type.
    kOutput,    // Output `index` of its child, an opaque node.
  };
  Sort sort = Sort::kOperator;
  std::string name;  // The operator's name; "Input", "Constant", ... for the others.
  KindId kind;
  const ops::OpDef* def = nullptr;  // kOperator only.
  model::AttributeMap attributes;
  uint32_t index = 0;
  std::optional<model::Tensor> constant;
  // Of the constant, kept because e-nodes of the word come and go.
  Facts constant_facts;
  std::optional<Sizes> constant_sizes;
  TypePair types;  // kInput and kOutput only.
};

// What is known about a class. All of it is true of the same value, so a union keeps both sides'
// data.
struct ClassData {
  model::TensorType type;
  model::TensorType measured;
  std::optional<model::Tensor> constant;  // The value itself.
  std::optional<Sizes> constant_sizes;    // Of it.
  bool weight_only = false;               // Folding computes it; see TakesTooLongToFold.
  // Computed from constants by an operator that stays in the model (OpDef::stays_in_model), so it
  // is constant when the model runs, but nothing that is computed from it folds.
  bool kept_constant = false;
  bool absent = false;
  // Whether the value is constant by the time the model runs.
  bool runs_as_constant() const { return weight_only || kept_constant; }
  // The elements of a small integer tensor, as far as known, for either type; may have symbols.
  std::optional<ops::Elements> elements;
  std::optional<ops::Elements> measured_elements;
  Facts facts;
  // Whether a step reads the value (steps.h). Nullopt if the original does not compute the value.
  std::optional<bool> read_by_step;
  bool is_output = false;  // Whether it is an output of the graph.
};

// Whether an operator on constants is too expensive to fold (a product of large weights) and is
// left to run with the model. What depends on it does not fold either. Types are the measured ones,
// null for operands left out; the answer is false while one of them is not static.
bool TakesTooLongToFold(const OpWord& word, std::span<const model::TensorType* const> inputs,
                        const model::TensorType& output);

// One thread.
class TensorDomain final : public egraph::OpTable, public egraph::Analysis {
 public:
  // `assume_finite_inputs`: what float inputs are taken to hold, see FactsOfInput. What is known of
  // the constants of `other`, if it is not null, is taken from there, because they may be large. It
  // is borrowed.
  explicit TensorDomain(bool assume_finite_inputs = false, const TensorDomain* other = nullptr);

  // These intern words: equal words have equal ids. Attributes must be in canonical form; those
  // that have their default value are dropped here.
  OpId Operator(absl::string_view name, model::AttributeMap attributes = {});
  OpId Input(uint32_t index, TypePair types);
  OpId Constant(const model::Tensor& tensor);
  OpId Absent();
  OpId OpaqueNode(uint32_t node, absl::string_view name);
  OpId OpaqueOutput(uint32_t node, uint32_t output, TypePair types);

  const OpWord& word(OpId op) const { return *words_[op.value()]; }
  const ClassData& data(const EGraph& graph, ClassId id) const {
    return data_[graph.Find(id).value()];
  }

  // Adds an e-node of an operator in canonical form. An invalid child stands for an input left out.
  // Fails like EGraph::Add if such an e-node is not possible.
  absl::StatusOr<ClassId> Add(EGraph& graph, absl::string_view name, model::AttributeMap attributes,
                              std::span<const ClassId> children, egraph::Origin origin);

  // Refines the types of a class by those of a value of the graph, which may say more than
  // inference. Ignored if they contradict.
  void Declare(const EGraph& graph, ClassId id, const TypePair& types);

  // Records for a value of the original graph, in this class, whether a step reads it.
  void DeclareSteps(const EGraph& graph, ClassId id, bool read_by_step);

  // Records that the graph has this class as an output.
  void DeclareOutput(const EGraph& graph, ClassId id);

  // Records that the model fails, or never runs, with this dimension 0.
  void DeclareNotEmpty(const model::Dim& dim) {
    if (!dim.symbol().empty()) never_empty_.insert(dim.symbol());
  }
  // Whether a dimension is at least 1 in every run of the model.
  bool NeverEmpty(const model::Dim& dim) const {
    return dim.is_number() ? dim.number() > 0 : never_empty_.contains(dim.symbol());
  }

  // Refuses e-nodes, from now on, whose operators need a newer opset than `max_opset`. Operators
  // that the model itself uses are always allowed.
  void LimitOpset(int max_opset) { max_opset_ = max_opset; }
  bool Allows(const ops::OpDef& def) const {
    return AllowsOpset(def.since_opset) || used_by_model_.contains(def.name);
  }
  // For what an operator of any opset has since then, such as an attribute.
  bool AllowsOpset(int since) const { return since <= max_opset_; }
  // Allows an operator because the model uses it.
  void AllowOperator(absl::string_view name);

  // Rules fold no constants, from now on, that have more bytes than this and than those that they
  // come from.
  void LimitConstants(int64_t max_bytes) { max_constant_bytes_ = max_bytes; }
  int64_t max_constant_bytes() const { return max_constant_bytes_; }

  // Number of unions refused because the types differ. Each one shows that a rule is wrong.
  int64_t refused_unions() const { return refused_unions_; }

  // --- OpTable
  KindId Kind(OpId op) const override { return word(op).kind; }
  KindId KindOfName(absl::string_view name) override;
  std::string Name(OpId op) const override;

  // --- Analysis
  absl::Status Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                    ClassId fresh) override;
  absl::Status Merge(const EGraph& graph, ClassId kept, ClassId absorbed) override;
  std::vector<ClassId> TakeChanged() override { return std::exchange(changed_, {}); }
  absl::Status Update(const EGraph& graph, ENodeId enode) override;
  void Mark() override { log_.Mark(); }
  void Rollback(const EGraph& graph) override {
    log_.Rollback(data_, graph.class_bound());
    changed_.clear();
  }
  void Forget() override { log_.Forget(); }

 private:
  OpId Intern(std::string key, OpWord word);
  // The word of a constant of this key in other_, or null.
  const OpWord* FindInOther(const std::string& key) const;
  // Joins what `other` knows about the same value into `kept`. Returns whether `kept` changed. An
  // error leaves `kept` unchanged.
  static absl::StatusOr<bool> Join(ClassData& kept, const ClassData& other);
  std::vector<ops::InferInput> InferInputs(const EGraph& graph,
                                           std::span<const ClassId> children) const;
  absl::Status MakeOperator(const EGraph& graph, const OpWord& word,
                            std::span<const ClassId> children, ClassData& data) const;

  const bool assume_finite_inputs_;
  std::vector<std::unique_ptr<const OpWord>> words_;  // Pointers, for stable addresses.
  absl::flat_hash_map<std::string, OpId> word_by_key_;
  absl::flat_hash_map<std::string, KindId> kind_by_name_;
  absl::flat_hash_set<std::string> never_empty_;  // Symbols.
  absl::flat_hash_map<std::string, bool> used_by_model_;
  std::deque<ClassData> data_;  // By ClassId. A deque, so references survive growth.
  egraph::ClassLog<ClassData> log_;
  std::vector<ClassId> changed_;  // Since the last TakeChanged.
  int max_opset_ = 1 << 20;
  int64_t max_constant_bytes_ = std::numeric_limits<int64_t>::max();
  int64_t refused_unions_ = 0;
  const TensorDomain* const other_;  // Null if no constants are known.
};

}  // namespace quotient::domain
