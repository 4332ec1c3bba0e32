#include "core/optimize/uncomputed.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/reason.h"
#include "core/onnx/sameness.h"
#include "core/verify/cut.h"

namespace quotient::optimize {
namespace {

using model::Graph;
using model::Node;

// The live nodes of a graph by their keys.
absl::flat_hash_map<std::string, const Node*> NodesOf(const Graph& graph) {
  absl::flat_hash_map<std::string, const Node*> nodes;
  const std::vector<bool> live = model::LiveNodes(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (live[i]) nodes.emplace(verify::NodeKey(graph, graph.nodes[i]), &graph.nodes[i]);
  }
  return nodes;
}

std::string OperatorOf(const Node& node) { return node.is_opaque() ? node.opaque->op : node.op; }

bool AreSame(const Node& first, const Node& second) {
  if (first.is_opaque() != second.is_opaque()) return false;
  if (first.is_opaque()) return onnx::SameContent(*first.opaque, *second.opaque);
  return first.op == second.op && first.attributes == second.attributes;
}

// "LSTM_1" of "node LSTM_1 output 0" and of "node LSTM_1 input 2". Empty for other keys.
std::string NodeOfKey(absl::string_view key) {
  if (!absl::ConsumePrefix(&key, "node ")) return "";
  const size_t input = key.rfind(" input ");
  return std::string(
      key.substr(0, input != absl::string_view::npos ? input : key.rfind(" output ")));
}

// A node that was cut out and on whose output the one with this key depends.
std::string NodeBehind(const verify::CutGraph& cut, const std::string& output) {
  const auto found = std::ranges::find(cut.output_keys, output);
  if (found == cut.output_keys.end()) {
    const auto link = cut.links.find(output);
    return link == cut.links.end() ? "" : NodeOfKey(link->second);
  }
  std::vector<bool> needed(cut.graph.values.size(), false);
  needed[cut.graph.outputs[found - cut.output_keys.begin()].value()] = true;
  for (size_t n = cut.graph.nodes.size(); n-- > 0;) {
    const Node& node = cut.graph.nodes[n];
    const auto is_needed = [&](model::ValueId id) { return id.valid() && needed[id.value()]; };
    if (std::ranges::none_of(node.outputs, is_needed)) continue;
    for (const model::ValueId id : node.inputs) {
      if (id.valid()) needed[id.value()] = true;
    }
  }
  for (size_t i = 0; i < cut.input_keys.size(); ++i) {
    if (!needed[cut.graph.inputs[i].value()]) continue;
    std::string node = NodeOfKey(cut.input_keys[i]);
    if (!node.empty()) return node;
  }
  return "";
}

absl::Status NotComparable(const std::string& key, const Node& node, absl::string_view why) {
  return MakeError(Reason::kModelUnsupported,
                   absl::StrCat("node '", key, "' (", OperatorOf(node),
                                ") cannot be evaluated here, and ", why));
}

}  // namespace

absl::Status CheckDefaults(const onnx::Model& model) {
  const auto known = std::ranges::count_if(model.graph.defaults,
                                           [](const auto& each) { return each.has_value(); });
  if (model.overridable_initializers <= known) return absl::OkStatus();
  return MakeError(Reason::kModelUnsupported,
                   "the default of an input has a type that cannot be compared here");
}

absl::StatusOr<std::vector<std::string>> CompareUncomputed(const Prepared& first,
                                                           const Prepared& second) {
  std::set<std::string> keys = first.cut.cut_keys;
  keys.insert(second.cut.cut_keys.begin(), second.cut.cut_keys.end());
  const auto nodes = NodesOf(first.measured);
  const auto others = NodesOf(second.measured);
  std::vector<std::string> gone;
  bool has_opaque = false;
  for (const std::string& key : keys) {
    const auto node = nodes.find(key);
    const auto other = others.find(key);
    if (other == others.end()) {
      gone.push_back(key);
      continue;
    }
    if (node == nodes.end()) {
      return NotComparable(key, *other->second, "the other model has no node for this value");
    }
    if (!AreSame(*node->second, *other->second)) {
      return NotComparable(key, *other->second, "is not the same in both models");
    }
    has_opaque |= node->second->is_opaque();
  }
  const std::string why = has_opaque ? onnx::WhyContextsDiffer(first.model, second.model) : "";
  if (why.empty()) return gone;
  return MakeError(Reason::kModelUnsupported,
                   absl::StrCat("nodes cannot be evaluated here, and ", why));
}

std::string RestsOnUncomputed(const verify::CutGraph& first, const verify::CutGraph& second,
                              const std::string& output) {
  std::string node = NodeOfKey(output);
  if (node.empty()) node = NodeBehind(first, output);
  if (node.empty()) node = NodeBehind(second, output);
  return node;
}

}  // namespace quotient::optimize
