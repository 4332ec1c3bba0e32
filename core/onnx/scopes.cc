#include "core/onnx/scopes.h"

#include <functional>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/onnx/errors.h"

namespace quotient::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

// Collects free names. Recursion is as deep as subgraphs are nested, which the scan has bounded.
class FreeNames {
 public:
  void AddNode(const NodeProto& node) {
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) AddGraph(attribute.g());
      for (const GraphProto& graph : attribute.graphs()) AddGraph(graph);
    }
  }

  std::vector<std::string> Take() { return std::move(names_); }

 private:
  void AddGraph(const GraphProto& graph) {
    absl::flat_hash_set<absl::string_view> defined;
    for (const ValueInfoProto& input : graph.input()) defined.insert(input.name());
    for (const TensorProto& tensor : graph.initializer()) defined.insert(tensor.name());
    for (const SparseTensorProto& sparse : graph.sparse_initializer()) {
      defined.insert(sparse.values().name());
    }
    for (const NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) defined.insert(output);
    }
    scopes_.push_back(std::move(defined));
    for (const NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) Use(input);
      AddNode(node);
    }
    for (const ValueInfoProto& output : graph.output()) Use(output.name());
    scopes_.pop_back();
  }

  void Use(const std::string& name) {
    if (name.empty()) return;
    for (const auto& scope : scopes_) {
      if (scope.contains(name)) return;
    }
    if (seen_.insert(name).second) names_.push_back(name);
  }

  std::vector<absl::flat_hash_set<absl::string_view>> scopes_;
  absl::flat_hash_set<absl::string_view> seen_;
  std::vector<std::string> names_;
};

// For each node, the indices of the nodes whose outputs it reads or captures.
std::vector<std::vector<int>> Dependencies(const Nodes& nodes) {
  absl::flat_hash_map<absl::string_view, int> producers;
  for (int n = 0; n < nodes.size(); ++n) {
    for (const std::string& output : nodes[n].output()) {
      if (!output.empty()) producers.emplace(output, n);
    }
  }
  std::vector<std::vector<int>> dependencies(nodes.size());
  for (int n = 0; n < nodes.size(); ++n) {
    const auto add = [&](const std::string& name) {
      const auto producer = producers.find(name);
      if (producer != producers.end()) dependencies[n].push_back(producer->second);
    };
    for (const std::string& input : nodes[n].input()) add(input);
    for (const std::string& captured : CapturedNames(nodes[n])) add(captured);
  }
  return dependencies;
}

// Follows dependencies on waiting nodes from `start` until a node repeats, and returns that node,
// which is on a cycle.
int NodeOnCycle(const std::vector<std::vector<int>>& dependencies, const std::vector<int>& waiting,
                int start) {
  absl::flat_hash_set<int> visited;
  int node = start;
  while (visited.insert(node).second) {
    for (int dependency : dependencies[node]) {
      if (waiting[dependency] > 0) {
        node = dependency;
        break;
      }
    }
  }
  return node;
}

}  // namespace

std::vector<std::string> CapturedNames(const NodeProto& node) {
  FreeNames names;
  names.AddNode(node);
  return names.Take();
}

void TakeNames(const NodeProto& node, NamePool& names) {
  const auto take_graph = [&names](const GraphProto& graph) {
    for (const ValueInfoProto& input : graph.input()) names.Take(input.name());
    for (const TensorProto& tensor : graph.initializer()) names.Take(tensor.name());
    for (const SparseTensorProto& sparse : graph.sparse_initializer()) {
      names.Take(sparse.values().name());
    }
    for (const NodeProto& inner : graph.node()) TakeNames(inner, names);
  };
  for (const std::string& input : node.input()) names.Take(input);
  for (const std::string& output : node.output()) names.Take(output);
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) take_graph(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) take_graph(graph);
  }
}

std::string NodeLabel(int64_t index, const NodeProto& node) {
  return absl::StrCat("node ", index, " '", Escaped(node.name()), "' (", Escaped(node.op_type()),
                      ")");
}

absl::StatusOr<std::vector<int>> TopologicalOrder(const Nodes& nodes, absl::string_view where) {
  const std::vector<std::vector<int>> dependencies = Dependencies(nodes);
  std::vector<int> waiting(nodes.size(), 0);  // Number of producers not yet in the order.
  std::vector<std::vector<int>> readers(nodes.size());
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int n = 0; n < nodes.size(); ++n) {
    waiting[n] = static_cast<int>(dependencies[n].size());
    for (int dependency : dependencies[n]) readers[dependency].push_back(n);
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<int> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int reader : readers[node]) {
      if (--waiting[reader] == 0) ready.push(reader);
    }
  }
  for (int n = 0; n < nodes.size(); ++n) {
    if (waiting[n] == 0) continue;
    const int node = NodeOnCycle(dependencies, waiting, n);
    return ErrorAt(Reason::kModelCyclic, absl::StrCat(where, NodeLabel(node, nodes[node])),
                   "needs its own result");
  }
  return order;
}

}  // namespace quotient::onnx
