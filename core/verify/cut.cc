#include "core/verify/cut.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::ValueId;

class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph), live_(model::LiveNodes(graph)) {}

  absl::StatusOr<CutGraph> Run() {
    MarkNeeded();
    CopyValues();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!live_[n]) continue;
      if (kept_[n]) {
        CopyNode(graph_.nodes[n]);
      } else {
        CutNode(graph_.nodes[n]);
      }
    }
    for (ValueId id : graph_.outputs) AddOutput(id, absl::StrCat("output ", graph_.value(id).name));
    QUOTIENT_RETURN_IF_ERROR(model::Validate(result_.graph));
    return std::move(result_);
  }

 private:
  void MarkNeeded() {
    kept_.resize(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      kept_[n] = live_[n] && model::IsComputable(graph_, graph_.nodes[n]);
    }
    read_.resize(graph_.values.size(), false);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!kept_[n]) continue;
      for (ValueId id : graph_.nodes[n].inputs) {
        if (id.valid()) read_[id.value()] = true;
      }
    }
  }

  // Copies constants and inputs. CopyNode copies the values that nodes compute.
  void CopyValues() {
    copy_.resize(graph_.values.size());
    result_.graph.name = graph_.name;
    for (ValueId id : graph_.inputs) {
      if (!model::IsComputable(graph_.value(id).type)) continue;
      AddInput(id, absl::StrCat("input ", graph_.value(id).name));
    }
    for (uint32_t v = 0; v < graph_.values.size(); ++v) {
      const model::Value& value = graph_.values[v];
      if (value.constant.has_value() && model::IsComputable(value.type.dtype)) {
        copy_[v] = result_.graph.AddConstant(value.name, *value.constant);
      }
    }
  }

  void AddInput(ValueId id, std::string key) {
    const model::Value& value = graph_.value(id);
    copy_[id.value()] = result_.graph.AddInput(value.name, value.type);
    result_.input_keys.push_back(std::move(key));
  }

  // Makes the value an output, once per key, or a link if it is no part of the cut.
  void AddOutput(ValueId id, std::string key) {
    if (!id.valid() || !keys_.insert(key).second) return;
    if (!copy_[id.value()].valid()) {
      result_.links.emplace(std::move(key), SourceOf(id));
      return;
    }
    result_.graph.outputs.push_back(copy_[id.value()]);
    result_.output_keys.push_back(std::move(key));
  }

  std::string SourceOf(ValueId id) const {
    const model::Value& value = graph_.value(id);
    // The name of a constant may change, but its type and elements may not.
    if (value.constant.has_value()) {
      return absl::StrCat("the constant of digest ", value.constant->digest().Hex());
    }
    if (!value.producer.valid()) return absl::StrCat("input ", value.name);
    return absl::StrCat("node ", NodeKey(graph_, graph_.node(value.producer)), " output ",
                        value.output_index);
  }

  void CopyNode(const Node& node) {
    Node copy = node;
    for (ValueId& id : copy.inputs) {
      if (id.valid()) id = copy_[id.value()];
    }
    for (ValueId& id : copy.outputs) {
      if (!id.valid()) continue;
      const model::Value& value = graph_.value(id);
      id = copy_[id.value()] = result_.graph.AddValue(value.name, value.type);
    }
    result_.graph.AddNode(std::move(copy));
  }

  void CutNode(const Node& node) {
    ++result_.cut_nodes;
    const std::string key = NodeKey(graph_, node);
    result_.cut_keys.insert(key);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      AddOutput(node.inputs[i], absl::StrCat("node ", key, " input ", i));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      // Outputs that no kept node reads need no random values.
      if (!id.valid() || !read_[id.value()] || !model::IsComputable(graph_.value(id).type))
        continue;
      AddInput(id, absl::StrCat("node ", key, " output ", i));
    }
  }

  const Graph& graph_;
  const std::vector<bool> live_;
  std::vector<bool> kept_;     // By node: whether it is part of the cut.
  std::vector<bool> read_;     // By value: whether a kept node reads it.
  std::vector<ValueId> copy_;  // By value: its id in the cut; invalid if it is no part of it.
  absl::flat_hash_set<std::string> keys_;
  CutGraph result_;
};

// Whether the key is that of an input of a node that is not among those cut out of the candidate.
bool IsOfNodeThatIsGone(absl::string_view key, const CutGraph& candidate) {
  constexpr absl::string_view kNode = "node ";
  if (!absl::StartsWith(key, kNode)) return false;
  const size_t end = key.rfind(" input ");
  return !candidate.cut_keys.contains(std::string(key.substr(kNode.size(), end - kNode.size())));
}

}  // namespace

// It does not change, because rewrites never touch nodes that are cut out.
std::string NodeKey(const Graph& graph, const Node& node) {
  for (ValueId id : node.outputs) {
    if (id.valid()) return graph.value(id).name;
  }
  return node.name;
}

std::optional<Lack> FindLack(const CutGraph& original, const CutGraph& candidate) {
  const absl::flat_hash_set<std::string> kept(candidate.output_keys.begin(),
                                              candidate.output_keys.end());
  for (const std::string& key : original.output_keys) {
    if (!kept.contains(key) && !IsOfNodeThatIsGone(key, candidate)) return Lack{key, "is missing"};
  }
  for (const auto& [key, source] : original.links) {
    const auto link = candidate.links.find(key);
    if (link != candidate.links.end() && link->second == source) continue;
    if (link == candidate.links.end() && IsOfNodeThatIsGone(key, candidate)) continue;
    return Lack{key, absl::StrCat("is not ", source, " any more")};
  }
  return std::nullopt;
}

absl::StatusOr<CutGraph> Cut(const Graph& graph) { return Cutter(graph).Run(); }

}  // namespace quotient::verify
