#pragma once

// TensorDomain: what operator words and classes of a tensor e-graph mean. It plugs into the e-graph
// twice: as OpTable (words) and as Analysis (what is known of a class: types, constants, facts).
//
// An e-node is one ONNX operator with one output; its attributes are part of the interned word.
// Leaves are graph inputs, constants (equal content, equal word), one "absent" leaf that stands for
// optional inputs left out, and opaque nodes (a word of their own each, so that they never merge)
// with projection words for their outputs.
//
// Two types are kept per class: `type` as the model has it, perhaps with symbols, and `measured`,
// the same with every symbol bound for measuring. Rules look at `type` alone, so that what they
// build is right for every binding; costs look at `measured`.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// Types of one value: as the model has it, and bound for measuring.
struct TypePair {
  model::TensorType type;
  model::TensorType measured;
};

struct OpWord {
  enum class Sort : uint8_t {
    kOperator,  // a row of the operator table with attributes
    kInput,     // `index`: position among the graph's inputs
    kConstant,  // `constant`
    kAbsent,    // an optional input left out
    kOpaque,    // `index`: NodeId of the original graph; its class has no type
    kOutput,    // output `index` of its child, an opaque node
  };
  Sort sort = Sort::kOperator;
  std::string name;  // the operator's name; "Input", "Constant", ... for the others
  KindId kind;
  const ops::OpDef* def = nullptr;  // kOperator only
  model::AttributeMap attributes;
  uint32_t index = 0;
  std::optional<model::Tensor> constant;
  TypePair types;  // of kInput and kOutput
};

// What is known of a class. Truths about one value, so a union of classes keeps all of them.
struct ClassData {
  model::TensorType type;
  model::TensorType measured;
  std::optional<model::Tensor> constant;  // the value itself
  bool weight_only = false;  // folding computes it from constants: see TakesTooLongToFold
  bool absent = false;
  // Elements of small integer tensors that are known up to symbols, for either type.
  std::optional<ops::Elements> elements;
  std::optional<ops::Elements> measured_elements;
  Facts facts;
};

// Whether folding leaves an operator of constants to whoever runs the model: a product of large
// weights. What depends on it does not fold then either. Types as they are measured, null where an
// operand is left out; false while one of them is not static.
bool TakesTooLongToFold(const OpWord& word, std::span<const model::TensorType* const> inputs,
                        const model::TensorType& output);

// One thread.
class TensorDomain final : public egraph::OpTable, public egraph::Analysis {
 public:
  // `assume_finite_inputs`: what float inputs are taken to hold, see FactsOfInput.
  explicit TensorDomain(bool assume_finite_inputs = false);

  // Words are interned: equal ones have equal ids. Attributes in canonical form (defaults absent;
  // those that have their default value are dropped here).
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

  // Adds an e-node of an operator, putting it into canonical form first; an invalid child stands
  // for an input left out. Errors are those of EGraph::Add: this e-node cannot be.
  absl::StatusOr<ClassId> Add(EGraph& graph, absl::string_view name, model::AttributeMap attributes,
                              std::span<const ClassId> children, egraph::Origin origin);

  // What is known of a class beyond what inference says of its e-nodes: the type of a value of the
  // graph. Ignored if it contradicts.
  void Declare(const EGraph& graph, ClassId id, const TypePair& types);

  // From here on e-nodes of operators that are newer than `max_opset` are refused: no rewrite may
  // need them. Operators that the model itself uses are always allowed.
  void LimitOpset(int max_opset) { max_opset_ = max_opset; }
  bool Allows(const ops::OpDef& def) const { return def.since_opset <= max_opset_; }
  // An operator the model uses.
  void AllowOperator(absl::string_view name);

  // Unions that were refused because the types differ. Each is a rule that is wrong.
  int64_t refused_unions() const { return refused_unions_; }

  // OpTable.
  KindId Kind(OpId op) const override { return word(op).kind; }
  KindId KindOfName(absl::string_view name) override;
  std::string Name(OpId op) const override;

  // Analysis.
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
  // Adds what `other` knows of the same value; true if that is news. An error leaves `kept` alone.
  static absl::StatusOr<bool> Join(ClassData& kept, const ClassData& other);
  std::vector<ops::InferInput> InferInputs(const EGraph& graph,
                                           std::span<const ClassId> children) const;
  absl::Status MakeOperator(const EGraph& graph, const OpWord& word,
                            std::span<const ClassId> children, ClassData& data) const;

  const bool assume_finite_inputs_;
  std::vector<std::unique_ptr<const OpWord>> words_;  // stable addresses: words outlive interning
  absl::flat_hash_map<std::string, OpId> word_by_key_;
  absl::flat_hash_map<std::string, KindId> kind_by_name_;
  absl::flat_hash_map<std::string, bool> used_by_model_;
  std::deque<ClassData> data_;  // by ClassId; references survive growth
  egraph::ClassLog<ClassData> log_;
  std::vector<ClassId> changed_;  // since the last TakeChanged
  int max_opset_ = 1 << 20;
  int64_t refused_unions_ = 0;
};

}  // namespace quotient::domain
