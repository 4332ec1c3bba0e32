// ToGraph emits the chosen e-nodes in order. It keeps the names that others rely on (outputs,
// captured values), combines Slices into Splits, and names new nodes.

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/selection.h"
#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::domain {
namespace {

class Exporter {
 public:
  Exporter(const TensorEGraph& tensors, std::span<const ENodeId> choice,
           std::span<const egraph::Rule* const> rules, std::span<const Split> splits)
      : tensors_(tensors),
        graph_(*tensors.egraph),
        original_(tensors.original),
        choice_(choice),
        rules_(rules) {
    for (const Split& split : splits) {
      for (const Split::Part& part : split.parts) split_of_[part.slice] = &split;
    }
  }

  absl::StatusOr<model::Graph> Run(EqualNames* names) && {
    QUOTIENT_ASSIGN_OR_RETURN(order_, ChosenClasses(tensors_, choice_));
    sites_ = SitesOf(tensors_, choice_, order_);
    value_of_.resize(graph_.class_bound());
    result_.name = original_.name;
    ReserveNames();
    FindFixedNames();
    EmitInputs();
    for (const ClassId cls : order_) QUOTIENT_RETURN_IF_ERROR(Emit(cls));
    EmitOutputs();
    QUOTIENT_RETURN_IF_ERROR(model::Validate(result_));
    if (names != nullptr) *names = NamesOfEqualValues();
    return std::move(result_);
  }

 private:
  const OpWord& WordOf(ENodeId enode) const { return tensors_.domain->word(graph_.node(enode).op); }
  ENodeId Chosen(ClassId cls) const { return choice_[cls.value()]; }
  ClassId ClassOf(model::ValueId value) const {
    const ClassId cls = tensors_.class_of_value[value.value()];
    return cls.valid() ? graph_.Find(cls) : cls;
  }
  model::ValueId& ValueOf(ClassId cls) { return value_of_[graph_.Find(cls).value()]; }

  // --- Names ---

  void ReserveNames() {
    for (const model::Value& value : original_.values) taken_.insert(value.name);
    for (const model::Node& node : original_.nodes) taken_.insert(node.name);
    for (size_t i = 0; i < original_.values.size(); ++i) {
      const ClassId cls = tensors_.class_of_value[i];
      if (!cls.valid() || !original_.values[i].constant) continue;
      constant_names_.try_emplace(graph_.Find(cls), original_.values[i].name);
    }
  }

  std::string FreshName(absl::string_view base) {
    std::string name(base);
    if (taken_.insert(name).second) return name;
    int64_t& next = next_number_.try_emplace(name, 2).first->second;
    do {
      name = absl::StrCat(base, "_", next++);
    } while (!taken_.insert(name).second);
    return name;
  }

  std::string NewName(ClassId cls, ENodeId enode) {
    const egraph::Origin origin = graph_.origin(enode);
    // The only new node with the input as origin is a Slice that was part of a Split.
    const std::string rule = origin == egraph::kInputOrigin ? "slice"
                             : origin <= rules_.size()      ? rules_[origin - 1]->name()
                                                            : absl::StrCat(origin);
    return FreshName(absl::StrCat(SiteName(tensors_, sites_[cls.value()]), "_quotient_", rule));
  }

  // Finds the values whose names others rely on: graph outputs, and values that subgraphs of opaque
  // nodes capture.
  void FindFixedNames() {
    for (const model::ValueId output : original_.outputs) Fix(output);
    for (const ClassId cls : order_) {
      const OpWord& word = WordOf(Chosen(cls));
      if (word.sort != OpWord::Sort::kOpaque) continue;
      const model::Node& node = original_.nodes[word.index];
      if (!node.is_opaque()) continue;
      for (size_t i = node.opaque->first_captured_input; i < node.inputs.size(); ++i) {
        if (node.inputs[i].valid()) Fix(node.inputs[i]);
      }
    }
  }

  void Fix(model::ValueId value) {
    if (is_fixed_.insert(value).second) fixed_[ClassOf(value)].push_back(value);
  }

  // The original value whose name the class's value must get; invalid if there is none.
  model::ValueId FirstFixed(ClassId cls) const {
    const auto it = fixed_.find(cls);
    return it == fixed_.end() ? model::ValueId() : it->second.front();
  }

  // --- Emission ---

  void EmitInputs() {
    for (const model::ValueId input : original_.inputs) {
      const model::Value& value = original_.value(input);
      input_values_.push_back(result_.AddInput(value.name, value.type));
    }
    result_.defaults = original_.defaults;
  }

  absl::Status Emit(ClassId cls) {
    const ENodeId enode = Chosen(cls);
    const OpWord& word = WordOf(enode);
    switch (word.sort) {
      case OpWord::Sort::kInput:
        ValueOf(cls) = input_values_[word.index];
        break;
      case OpWord::Sort::kConstant:
        ValueOf(cls) = EmitConstant(cls, word);
        break;
      case OpWord::Sort::kAbsent:
        break;
      case OpWord::Sort::kOpaque:
        EmitOpaque(enode, word);
        return absl::OkStatus();
      case OpWord::Sort::kOutput: {
        const uint32_t node = WordOf(Chosen(graph_.Find(graph_.node(enode).children[0]))).index;
        ValueOf(cls) = opaque_outputs_.at({node, word.index});
        break;
      }
      case OpWord::Sort::kOperator:
        if (const auto split = split_of_.find(enode); split != split_of_.end()) {
          if (!ValueOf(cls).valid()) EmitSplit(*split->second);
        } else {
          EmitOperator(cls, enode, word);
        }
        break;
    }
    EmitAliases(cls);
    return absl::OkStatus();
  }

  std::string ConstantName(ClassId cls) {
    const auto it = constant_names_.find(cls);
    return it == constant_names_.end()
               ? FreshName(absl::StrCat(SiteName(tensors_, sites_[cls.value()]), "_constant"))
               : it->second;
  }

  model::ValueId EmitConstant(ClassId cls, const OpWord& word) {
    const model::ValueId fixed = FirstFixed(cls);
    const std::string name = fixed.valid() ? original_.value(fixed).name : ConstantName(cls);
    return result_.AddConstant(name, *word.constant);
  }

  std::vector<model::ValueId> Inputs(ENodeId enode) {
    std::vector<model::ValueId> inputs;
    for (const ClassId child : graph_.node(enode).children) inputs.push_back(ValueOf(child));
    return inputs;
  }

  void EmitOpaque(ENodeId enode, const OpWord& word) {
    model::Node node = original_.nodes[word.index];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const ClassId child = graph_.Find(graph_.node(enode).children[i]);
      // If the node knows the value by a fixed name, it must read the value of that name.
      const auto alias = aliases_.find(node.inputs[i]);
      node.inputs[i] = alias == aliases_.end() ? ValueOf(child) : alias->second;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const model::Value& value = original_.value(node.outputs[i]);
      node.outputs[i] = result_.AddValue(value.name, value.type);
      opaque_outputs_[{word.index, static_cast<uint32_t>(i)}] = node.outputs[i];
    }
    result_.AddNode(std::move(node));
  }

  // Makes the value of a class. It gets the fixed name if there is one, else that of the original
  // value of the e-node, else `node_name`.
  model::ValueId NewValue(ClassId cls, ENodeId enode, absl::string_view node_name) {
    const model::TensorType& type = tensors_.domain->data(graph_, cls).type;
    if (const model::ValueId fixed = FirstFixed(cls); fixed.valid()) {
      return result_.AddValue(original_.value(fixed).name, type);
    }
    const OriginalRef ref = tensors_.Original(enode);
    if (!ref.node.valid()) return result_.AddValue(node_name, type);
    const model::ValueId value = original_.node(ref.node).outputs[ref.output];
    return result_.AddValue(original_.value(value).name, type);
  }

  void EmitOperator(ClassId cls, ENodeId enode, const OpWord& word) {
    model::Node node;
    const OriginalRef ref = tensors_.Original(enode);
    // A Slice that was an output of a Split is now a node of its own.
    const bool kept = ref.node.valid() && original_.node(ref.node).op == word.name;
    node.name = kept ? original_.node(ref.node).name : NewName(cls, enode);
    if (kept) node.source = original_.node(ref.node).source;
    node.op = word.name;
    node.attributes = word.attributes;
    node.inputs = Inputs(enode);
    const model::ValueId output = NewValue(cls, enode, node.name);
    node.outputs = {output};
    result_.AddNode(std::move(node));
    ValueOf(cls) = output;
  }

  void EmitSplit(const Split& split) {
    const ENodeId first = split.parts[0].slice;
    const std::vector<SplitOutput> outputs = OutputsOf(split);
    model::Node node;
    node.op = "Split";
    if (const OriginalRef ref = tensors_.Original(first); IsOriginalSplit(outputs, ref)) {
      node.name = original_.node(ref.node).name;
      node.source = original_.node(ref.node).source;
    } else {
      node.name = NewName(graph_.class_of(first), first);
    }
    node.inputs = Inputs(first);
    node.attributes = AttributesOf(split);
    for (size_t i = 0; i < outputs.size(); ++i) {
      node.outputs.push_back(outputs[i].part == nullptr
                                 ? UnusedOutput(node, i, split, outputs[i].size)
                                 : PartOutput(node, i, outputs[i].part->slice));
    }
    result_.AddNode(std::move(node));
  }

  model::ValueId UnusedOutput(const model::Node& node, size_t index, const Split& split,
                              int64_t size) {
    const ClassId input = graph_.node(split.parts[0].slice).children[0];
    model::TensorType type = tensors_.domain->data(graph_, input).type;
    (*type.shape)[split.axis()] = model::Dim(size);
    return result_.AddValue(FreshName(absl::StrCat(node.name, "_output_", index)), type);
  }

  // Several new parts of one Split need different names.
  model::ValueId PartOutput(const model::Node& split, size_t index, ENodeId slice) {
    const ClassId cls = graph_.class_of(slice);
    const bool is_new = !FirstFixed(cls).valid() && !tensors_.Original(slice).node.valid();
    const std::string name =
        is_new ? FreshName(absl::StrCat(split.name, "_output_", index)) : split.name;
    return ValueOf(cls) = NewValue(cls, slice, name);
  }

  // Whether the outputs are those of one original Split, at the same positions. Others may be
  // unused.
  bool IsOriginalSplit(std::span<const SplitOutput> outputs, OriginalRef first) const {
    if (!first.node.valid() || original_.node(first.node).op != "Split") return false;
    if (original_.node(first.node).outputs.size() != outputs.size()) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].part == nullptr) continue;
      const OriginalRef ref = tensors_.Original(outputs[i].part->slice);
      if (ref.node != first.node || ref.output != static_cast<int>(i)) return false;
    }
    return true;
  }

  // A value has one name. Further names that must exist become Identity nodes.
  void EmitAliases(ClassId cls) {
    const auto it = fixed_.find(cls);
    if (it == fixed_.end() || aliased_.contains(cls)) return;
    const model::ValueId value = ValueOf(cls);
    if (!value.valid()) return;
    aliased_.insert(cls);
    for (const model::ValueId fixed : it->second) {
      const model::Value& wanted = original_.value(fixed);
      if (result_.value(value).name == wanted.name) {
        aliases_[fixed] = value;
        continue;
      }
      if (result_.is_constant(value)) {
        aliases_[fixed] = result_.AddConstant(wanted.name, *result_.value(value).constant);
        continue;
      }
      model::Node node;
      node.name = FreshName(absl::StrCat(wanted.name, "_quotient_alias"));
      node.op = "Identity";
      node.inputs = {value};
      node.outputs = {result_.AddValue(wanted.name, wanted.type)};
      aliases_[fixed] = node.outputs[0];
      result_.AddNode(std::move(node));
    }
  }

  void EmitOutputs() {
    for (const model::ValueId output : original_.outputs) {
      const model::ValueId value = aliases_.at(output);
      result_.value(value).type = original_.value(output).type;
      result_.outputs.push_back(value);
    }
  }

  EqualNames NamesOfEqualValues() const {
    EqualNames names;
    names.of_class.resize(value_of_.size());
    const auto add = [&names](ClassId cls, const std::string& name) {
      std::string& shared = names.of_class[cls.value()];
      if (shared.empty()) shared = name;
      if (name != shared) names.shared.emplace(name, shared);
    };
    for (size_t i = 0; i < original_.values.size(); ++i) {
      const ClassId cls = ClassOf(model::ValueId(i));
      if (cls.valid()) add(cls, original_.values[i].name);
    }
    for (const ClassId cls : order_) {
      const model::ValueId value = value_of_[cls.value()];
      if (value.valid()) add(cls, result_.value(value).name);
    }
    return names;
  }

  const TensorEGraph& tensors_;
  const EGraph& graph_;
  const model::Graph& original_;
  const std::span<const ENodeId> choice_;
  const std::span<const egraph::Rule* const> rules_;

  model::Graph result_;
  std::vector<ClassId> order_;
  std::vector<model::NodeId> sites_;  // By ClassId.
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> next_number_;  // By base name: the next suffix to try.
  absl::flat_hash_set<model::ValueId> is_fixed_;
  absl::flat_hash_map<ClassId, std::vector<model::ValueId>> fixed_;
  absl::flat_hash_map<ClassId, std::string> constant_names_;
  absl::flat_hash_map<ENodeId, const Split*> split_of_;  // By Slice.

  std::vector<model::ValueId> value_of_;      // By ClassId: its value in result_.
  std::vector<model::ValueId> input_values_;  // By position.
  std::map<std::pair<uint32_t, uint32_t>, model::ValueId> opaque_outputs_;
  absl::flat_hash_map<model::ValueId, model::ValueId> aliases_;  // Fixed original value to result_.
  absl::flat_hash_set<ClassId> aliased_;
};

}  // namespace

absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules,
                                     std::span<const Split> splits, EqualNames* names) {
  return Exporter(tensors, choice, rules, splits).Run(names);
}

absl::StatusOr<model::Graph> ToGraph(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                     std::span<const egraph::Rule* const> rules) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<ClassId> order, ChosenClasses(tensors, choice));
  std::vector<ENodeId> chosen;
  for (const ClassId cls : order) chosen.push_back(choice[cls.value()]);
  std::vector<Split> splits = FindSplits(tensors, chosen);
  std::erase_if(splits, [](const Split& split) { return !split.tiles(); });
  return ToGraph(tensors, choice, rules, splits);
}

}  // namespace quotient::domain
