// 1. Which functions may be inlined, and how large each is with all that it calls, is found first
//    (function_table.h).
// 2. Nodes of the main graph are copied in order; a call becomes a copy of the body, in which names
//    are new, attributes have their values, and calls become bodies in turn.
// 3. Functions that are still called stay.

#include "core/onnx/inline_functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/onnx/function_key.h"
#include "core/onnx/function_table.h"
#include "core/onnx/names.h"
#include "core/onnx/schema.h"
#include "core/onnx/scopes.h"

namespace quotient::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

// One call while it is replaced: what the body's names and attributes stand for.
class Instance {
 public:
  Instance(const FunctionProto& function, const NodeProto& call, NamePool& values, NamePool& nodes)
      : values_(values), nodes_(nodes) {
    for (const AttributeProto& attribute : function.attribute_proto()) {
      attributes_[attribute.name()] = &attribute;  // the default
    }
    for (const AttributeProto& attribute : call.attribute()) {
      attributes_[attribute.name()] = &attribute;
    }
    scopes_.emplace_back();
    for (int i = 0; i < function.input_size(); ++i) {
      scopes_.back()[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
    for (int i = 0; i < std::min(function.output_size(), call.output_size()); ++i) {
      if (!call.output(i).empty()) scopes_.back()[function.output(i)] = call.output(i);
    }
  }

  // A node of the body as it is in the graph around the call. Nodes may come in any order.
  NodeProto Copy(const NodeProto& node) {
    NodeProto copy = node;
    for (std::string& input : *copy.mutable_input()) input = NameOf(input);
    for (std::string& output : *copy.mutable_output()) output = NameOf(output);
    if (!copy.name().empty()) copy.set_name(nodes_.Fresh(copy.name()));
    copy.clear_attribute();
    for (const AttributeProto& attribute : node.attribute()) AddAttribute(attribute, &copy);
    return copy;
  }

 private:
  // The innermost scope's name; names of the body that come for the first time get a new one.
  std::string NameOf(const std::string& name) {
    if (name.empty()) return name;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto known = scope->find(name);
      if (known != scope->end()) return known->second;
    }
    return scopes_.front()[name] = values_.Fresh(name);
  }

  void AddAttribute(const AttributeProto& attribute, NodeProto* node) {
    const AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto given = attributes_.find(attribute.ref_attr_name());
      if (given == attributes_.end()) return;  // left out by the call, and without default
      value = given->second;
    }
    AttributeProto* copy = node->add_attribute();
    *copy = *value;
    copy->set_name(attribute.name());
    // The call's own graphs belong to the graph around it; those of the body are part of the body.
    if (value != &attribute) return;
    if (copy->has_g()) RenameGraph(copy->mutable_g());
    for (GraphProto& graph : *copy->mutable_graphs()) RenameGraph(&graph);
  }

  // All names that the graph defines become new: an argument of the call might have the same.
  // Recursion is as deep as subgraphs are nested.
  void RenameGraph(GraphProto* graph) {
    auto& scope = scopes_.emplace_back();
    const auto define = [&](const std::string& name) {
      if (!name.empty() && !scope.contains(name)) scope[name] = values_.Fresh(name);
    };
    for (const ValueInfoProto& input : graph->input()) define(input.name());
    for (const TensorProto& tensor : graph->initializer()) define(tensor.name());
    for (const SparseTensorProto& sparse : graph->sparse_initializer()) {
      define(sparse.values().name());
    }
    for (const NodeProto& node : graph->node()) {
      for (const std::string& output : node.output()) define(output);
    }
    for (auto* infos : {graph->mutable_input(), graph->mutable_output()}) {
      for (ValueInfoProto& info : *infos) info.set_name(NameOf(info.name()));
    }
    for (TensorProto& tensor : *graph->mutable_initializer()) {
      tensor.set_name(NameOf(tensor.name()));
    }
    for (SparseTensorProto& sparse : *graph->mutable_sparse_initializer()) {
      sparse.mutable_values()->set_name(NameOf(sparse.values().name()));
    }
    for (NodeProto& node : *graph->mutable_node()) node = Copy(node);
    // Descriptions of values; nothing needs them.
    graph->clear_value_info();
    graph->clear_quantization_annotation();
    scopes_.pop_back();
  }

  NamePool& values_;
  NamePool& nodes_;
  absl::flat_hash_map<std::string, const AttributeProto*> attributes_;
  // The body's names and those of the subgraphs around the node at hand, innermost last.
  std::vector<absl::flat_hash_map<std::string, std::string>> scopes_;
};

class Inliner {
 public:
  Inliner(int opset, const Limits& limits, ModelProto* model)
      : model_(*model),
        table_(opset, *model),
        left_nodes_(limits.max_nodes - model->graph().node_size()),
        left_bytes_(limits.max_structure_bytes) {}

  int64_t Run() {
    GraphProto& graph = *model_.mutable_graph();
    const bool has_calls =
        std::any_of(graph.node().begin(), graph.node().end(),
                    [&](const NodeProto& node) { return table_.Find(node) != nullptr; });
    if (!has_calls) return 0;
    TakeAllNames();
    Nodes before;
    before.Swap(graph.mutable_node());
    for (NodeProto& node : before) {
      const InlinableFunction* function = table_.Find(node);
      if (function != nullptr && Afford(function->growth, node)) {
        Replace(node, *function->proto);
      } else {
        *graph.add_node() = std::move(node);
      }
    }
    AddImports();
    // Training graphs may call any function.
    if (model_.training_info().empty()) DropUncalled();
    return calls_;
  }

 private:
  // False, and nothing is spent, if the function's copy for this call would be too large.
  bool Afford(FunctionGrowth growth, const NodeProto& call) {
    growth.AdmitCall(call);
    const int64_t bytes = growth.bytes();
    if (growth.nodes() > left_nodes_ || bytes > left_bytes_) return false;
    left_nodes_ -= growth.nodes();
    left_bytes_ -= bytes;
    return true;
  }

  // Descriptions count, too: one of a value that is not there must not become that of another.
  void TakeAllNames() {
    const GraphProto& graph = model_.graph();
    for (const ValueInfoProto& info : graph.value_info()) values_.Take(info.name());
    for (const ValueInfoProto& output : graph.output()) values_.Take(output.name());
    for (const ValueInfoProto& input : graph.input()) values_.Take(input.name());
    for (const TensorProto& tensor : graph.initializer()) values_.Take(tensor.name());
    for (const SparseTensorProto& sparse : graph.sparse_initializer()) {
      values_.Take(sparse.values().name());
    }
    for (const NodeProto& node : graph.node()) {
      TakeNames(node, values_);
      nodes_.Take(node.name());
    }
  }

  // Recursion is as deep as calls are nested, which CheckStructure has bounded. The growth of what
  // is called within was counted with the outermost call.
  void Replace(const NodeProto& call, const FunctionProto& function) {
    ++calls_;
    inlined_.insert(&function);
    Instance instance(function, call, values_, nodes_);
    for (const NodeProto& node : function.node()) {
      NodeProto copy = instance.Copy(node);
      if (const InlinableFunction* callee = table_.Find(copy)) {
        Replace(copy, *callee->proto);
      } else {
        *model_.mutable_graph()->add_node() = std::move(copy);
      }
    }
  }

  // Bodies use domains that only their functions imported.
  void AddImports() {
    std::set<std::string> known;
    for (const auto& import : model_.opset_import()) {
      known.emplace(CanonicalDomain(import.domain()));
    }
    for (const FunctionProto& function : model_.functions()) {
      if (!inlined_.contains(&function)) continue;
      for (const auto& import : function.opset_import()) {
        if (known.emplace(CanonicalDomain(import.domain())).second) {
          *model_.add_opset_import() = import;
        }
      }
    }
  }

  void DropUncalled() {
    std::map<FunctionKey, const FunctionProto*> functions;
    for (const FunctionProto& function : model_.functions()) {
      functions[FunctionKeyOf(function)] = &function;
    }
    std::set<FunctionKey> called;
    std::vector<const Nodes*> open = {&model_.graph().node()};
    while (!open.empty()) {
      const Nodes& nodes = *open.back();
      open.pop_back();
      for (const NodeProto& node : nodes) {
        const auto callee = functions.find(CalleeKey(node));
        if (callee != functions.end() && called.insert(callee->first).second) {
          open.push_back(&callee->second->node());
        }
        for (const AttributeProto& attribute : node.attribute()) {
          if (attribute.has_g()) open.push_back(&attribute.g().node());
          for (const GraphProto& graph : attribute.graphs()) open.push_back(&graph.node());
        }
      }
    }
    auto& all = *model_.mutable_functions();
    int kept = 0;
    for (int i = 0; i < all.size(); ++i) {
      if (called.contains(FunctionKeyOf(all[i]))) all.SwapElements(i, kept++);
    }
    all.DeleteSubrange(kept, all.size() - kept);
  }

  ModelProto& model_;
  const FunctionTable table_;
  int64_t left_nodes_;
  int64_t left_bytes_;
  NamePool values_;
  NamePool nodes_;
  std::set<const FunctionProto*> inlined_;
  int64_t calls_ = 0;
};

}  // namespace

int64_t InlineFunctions(int opset, const Limits& limits, ModelProto* model) {
  if (model->functions().empty()) return 0;
  return Inliner(opset, limits, model).Run();
}

}  // namespace quotient::onnx
