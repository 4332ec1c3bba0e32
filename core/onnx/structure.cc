#include "core/onnx/structure.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/function_key.h"
#include "core/onnx/names.h"
#include "core/onnx/schema.h"
#include "core/onnx/scopes.h"

namespace quotient::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

std::string Quoted(absl::string_view name) { return absl::StrCat("'", Escaped(name), "'"); }

// The names visible in a graph: its own and those of the graphs around it.
struct Scope {
  const Scope* outer = nullptr;
  absl::flat_hash_set<absl::string_view> names;

  bool Sees(absl::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (scope->names.contains(name)) return true;
    }
    return false;
  }
};

class StructureChecker {
 public:
  explicit StructureChecker(const Limits& limits) : limits_(limits) {}

  // Returns the order of the nodes. Recursion over subgraphs is bounded by the scan.
  absl::StatusOr<std::vector<int>> CheckGraph(const GraphProto& graph, const Scope* outer,
                                              const std::string& where) {
    Scope scope{outer, {}};
    QUOTIENT_RETURN_IF_ERROR(CheckName(graph.name(), absl::StrCat(where, "graph"), limits_));
    QUOTIENT_RETURN_IF_ERROR(DefineInputsAndInitializers(graph, where, &scope));
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<int> order, CheckNodes(graph.node(), where, &scope));
    for (const ValueInfoProto& output : graph.output()) {
      if (!output.name().empty() && scope.Sees(output.name())) continue;
      return Malformed(absl::StrCat(where, "output ", Quoted(output.name())), "is never produced");
    }
    return order;
  }

  absl::Status CheckFunction(const FunctionProto& function) {
    const std::string where = absl::StrCat("function ", Quoted(function.name()), ", ");
    QUOTIENT_RETURN_IF_ERROR(CheckName(function.name(), "function", limits_));
    QUOTIENT_RETURN_IF_ERROR(CheckName(function.domain(), "function", limits_));
    Scope scope;
    for (const std::string& input : function.input()) {
      QUOTIENT_RETURN_IF_ERROR(Define(input, absl::StrCat(where, "input"), &scope));
    }
    QUOTIENT_RETURN_IF_ERROR(CheckNodes(function.node(), where, &scope).status());
    for (const std::string& output : function.output()) {
      if (scope.Sees(output)) continue;
      return Malformed(absl::StrCat(where, "output ", Quoted(output)), "is never produced");
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Define(absl::string_view name, const std::string& what, Scope* scope) {
    if (name.empty()) return Malformed(what, "has no name");
    QUOTIENT_RETURN_IF_ERROR(CheckName(name, what, limits_));
    if (scope->names.insert(name).second) return absl::OkStatus();
    return Malformed(absl::StrCat(what, " ", Quoted(name)), "another value has this name");
  }

  absl::Status DefineInputsAndInitializers(const GraphProto& graph, const std::string& where,
                                           Scope* scope) {
    for (const ValueInfoProto& input : graph.input()) {
      QUOTIENT_RETURN_IF_ERROR(Define(input.name(), absl::StrCat(where, "input"), scope));
    }
    // An initializer may have the name of an input, as its default, but not of another initializer.
    absl::flat_hash_set<absl::string_view> initializers;
    const auto define = [&](absl::string_view name, absl::string_view kind) -> absl::Status {
      const std::string what = absl::StrCat(where, kind);
      QUOTIENT_RETURN_IF_ERROR(CheckName(name, what, limits_));
      if (name.empty()) return Unsupported(what, "has no name");
      if (initializers.insert(name).second) return absl::OkStatus();
      // Runtimes take one of the two, and which one is nowhere written.
      return Unsupported(absl::StrCat(what, " ", Quoted(name)), "another one has this name");
    };
    for (const TensorProto& tensor : graph.initializer()) {
      QUOTIENT_RETURN_IF_ERROR(define(tensor.name(), "initializer"));
    }
    for (const SparseTensorProto& sparse : graph.sparse_initializer()) {
      QUOTIENT_RETURN_IF_ERROR(define(sparse.values().name(), "sparse initializer"));
    }
    scope->names.insert(initializers.begin(), initializers.end());
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> CheckNodes(const Nodes& nodes, const std::string& where,
                                              Scope* scope) {
    for (int n = 0; n < nodes.size(); ++n) {
      for (const std::string& output : nodes[n].output()) {
        if (output.empty()) continue;
        const std::string label = absl::StrCat(where, NodeLabel(n, nodes[n]), " output");
        QUOTIENT_RETURN_IF_ERROR(Define(output, label, scope));
      }
    }
    for (int n = 0; n < nodes.size(); ++n) {
      QUOTIENT_RETURN_IF_ERROR(
          CheckNode(nodes[n], absl::StrCat(where, NodeLabel(n, nodes[n])), *scope));
    }
    return TopologicalOrder(nodes, where);
  }

  absl::Status CheckNode(const NodeProto& node, const std::string& label, const Scope& scope) {
    for (const std::string* name : {&node.name(), &node.op_type(), &node.domain()}) {
      QUOTIENT_RETURN_IF_ERROR(CheckName(*name, label, limits_));
    }
    for (const std::string& input : node.input()) {
      if (input.empty() || scope.Sees(input)) continue;
      return Malformed(label, absl::StrCat("no such input ", Quoted(input)));
    }
    for (const AttributeProto& attribute : node.attribute()) {
      QUOTIENT_RETURN_IF_ERROR(CheckName(attribute.name(), label, limits_));
      QUOTIENT_RETURN_IF_ERROR(CheckSubgraphs(attribute, label, scope));
    }
    return absl::OkStatus();
  }

  absl::Status CheckSubgraphs(const AttributeProto& attribute, const std::string& label,
                              const Scope& scope) {
    const auto check = [&](const GraphProto& graph) -> absl::Status {
      const std::string where = absl::StrCat(label, " ", Escaped(attribute.name()), ": ");
      return CheckGraph(graph, &scope, where).status();
    };
    if (attribute.has_g()) QUOTIENT_RETURN_IF_ERROR(check(attribute.g()));
    for (const GraphProto& graph : attribute.graphs()) QUOTIENT_RETURN_IF_ERROR(check(graph));
    return absl::OkStatus();
  }

  const Limits& limits_;
};

// Checks that functions do not call each other in a circle, by depth-first search; the recursion is
// bounded by max_call_depth.
class CallGraph {
 public:
  CallGraph(const ModelProto& model, const Limits& limits) : model_(model), limits_(limits) {}

  absl::Status Check() {
    for (int f = 0; f < model_.functions_size(); ++f) {
      const FunctionProto& function = model_.functions(f);
      if (functions_.emplace(FunctionKeyOf(function), f).second) continue;
      return Malformed(absl::StrCat("function ", Quoted(function.name())), "defined twice");
    }
    height_.assign(model_.functions_size(), kUnknown);
    for (int f = 0; f < model_.functions_size(); ++f) {
      QUOTIENT_RETURN_IF_ERROR(Visit(f, 0));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int kUnknown = -1;
  static constexpr int kVisiting = -2;

  absl::Status Visit(int f, int depth) {
    const std::string where = absl::StrCat("function ", Quoted(model_.functions(f).name()));
    if (height_[f] == kVisiting) return ErrorAt(Reason::kModelCyclic, where, "calls itself");
    if (height_[f] == kUnknown) {
      if (depth > limits_.max_call_depth) return TooDeep(where);
      height_[f] = kVisiting;
      int height = 0;
      QUOTIENT_RETURN_IF_ERROR(VisitNodes(model_.functions(f).node(), depth, &height));
      height_[f] = height;
    }
    return depth + height_[f] > limits_.max_call_depth ? TooDeep(where) : absl::OkStatus();
  }

  absl::Status VisitNodes(const Nodes& nodes, int depth, int* height) {
    for (const NodeProto& node : nodes) {
      const auto callee = functions_.find(CalleeKey(node));
      if (callee != functions_.end()) {
        QUOTIENT_RETURN_IF_ERROR(Visit(callee->second, depth + 1));
        *height = std::max(*height, height_[callee->second] + 1);
      }
      for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          QUOTIENT_RETURN_IF_ERROR(VisitNodes(attribute.g().node(), depth, height));
        }
        for (const GraphProto& graph : attribute.graphs()) {
          QUOTIENT_RETURN_IF_ERROR(VisitNodes(graph.node(), depth, height));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status TooDeep(absl::string_view where) const {
    return ErrorAt(Reason::kLimitDepth, where,
                   absl::StrCat("calls nested deeper than ", limits_.max_call_depth));
  }

  const ModelProto& model_;
  const Limits& limits_;
  std::map<FunctionKey, int> functions_;
  std::vector<int> height_;  // of the calls below, or one of the constants
};

}  // namespace

absl::StatusOr<std::vector<int>> CheckStructure(const ModelProto& model, const Limits& limits) {
  if (!model.has_graph()) return Malformed("model", "has no graph");
  if (model.graph().output().empty()) return Unsupported("graph", "has no outputs");
  StructureChecker checker(limits);
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<int> order,
                            checker.CheckGraph(model.graph(), /*outer=*/nullptr, ""));
  for (const FunctionProto& function : model.functions()) {
    QUOTIENT_RETURN_IF_ERROR(checker.CheckFunction(function));
  }
  QUOTIENT_RETURN_IF_ERROR(CallGraph(model, limits).Check());
  // Training graphs are kept and never run; what they call by name is in the main graph or in
  // each other, so only their nesting and tensors are checked (by scan and tensor walk).
  return order;
}

}  // namespace quotient::onnx
