#include "core/verify/first_difference.h"

#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/verify/element_text.h"
#include "core/verify/input_sets.h"
#include "core/verify/reference.h"

namespace quotient::verify {
namespace {

using model::Tensor;

// The names of what the nodes of a graph compute.
absl::flat_hash_set<absl::string_view> NamesOf(const model::Graph& graph) {
  absl::flat_hash_set<absl::string_view> names;
  for (const model::Node& node : graph.nodes) {
    for (const model::ValueId id : node.outputs) {
      if (id.valid()) names.insert(graph.value(id).name);
    }
  }
  return names;
}

// Calls `visit` with the name and the content of each output of a node.
template <typename Visit>
void ForEachOutput(const model::Graph& graph, model::NodeId node,
                   const std::vector<Tensor>& outputs, const Visit& visit) {
  const std::vector<model::ValueId>& ids = graph.node(node).outputs;
  for (size_t i = 0; i < outputs.size() && i < ids.size(); ++i) {
    if (ids[i].valid()) visit(graph.value(ids[i]).name, outputs[i]);
  }
}

// Values of the original by name.
class Kept {
 public:
  explicit Kept(int64_t most_bytes) : bytes_left_(most_bytes) {}

  void Add(const std::string& name, const Tensor& value) {
    const auto bytes = static_cast<int64_t>(value.bytes().size());
    bytes_left_ -= bytes;
    if (bytes_left_ < 0) return;
    values_.emplace(name, value);
  }
  // Null if there is none. It is compared once, and forgotten then.
  std::optional<Tensor> Take(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    Tensor value = std::move(found->second);
    values_.erase(found);
    return value;
  }

 private:
  int64_t bytes_left_;
  absl::flat_hash_map<std::string, Tensor> values_;
};

FirstDifference Describe(const std::string& name, const std::string& op, const Tensor& original,
                         const Tensor& other, const Difference& difference) {
  FirstDifference first{.value = name, .op = op};
  if (original.type() != other.type() || difference.index < 0) return first;
  first.element = ElementText(original.type(), difference.index);
  first.original = NumberAt(original, difference.index);
  first.other = NumberAt(other, difference.index);
  return first;
}

}  // namespace

absl::StatusOr<std::optional<FirstDifference>> FindFirstDifference(
    const CutGraph& original, const CutGraph& other, const std::vector<Tensor>& inputs,
    const FirstDifferenceSettings& settings, const StopCondition& stop) {
  const absl::flat_hash_set<absl::string_view> names = NamesOf(other.graph);
  Kept kept(settings.most_bytes);
  const eval::NodeHook keep = [&](model::NodeId node, std::span<const Tensor* const>,
                                  std::vector<Tensor>& outputs) {
    ForEachOutput(original.graph, node, outputs, [&](const std::string& name, const Tensor& value) {
      if (names.contains(name)) kept.Add(name, value);
    });
  };
  QUOTIENT_RETURN_IF_ERROR(
      EvaluateOutputs(original, inputs, settings.threads, stop, keep).status());

  std::optional<FirstDifference> first;
  int agreeing = 0;
  const eval::NodeHook compare = [&](model::NodeId node, std::span<const Tensor* const>,
                                     std::vector<Tensor>& outputs) {
    ForEachOutput(other.graph, node, outputs, [&](const std::string& name, const Tensor& value) {
      if (first.has_value()) return;
      const std::optional<Tensor> wanted = kept.Take(name);
      if (!wanted.has_value()) return;
      const Difference difference = Compare(*wanted, value, settings.tolerance,
                                            /*conditioning=*/nullptr, settings.non_finite);
      if (difference.relative_error <= settings.tolerance) {
        ++agreeing;
        return;
      }
      first = Describe(name, other.graph.node(node).op, *wanted, value, difference);
      first->agreeing = agreeing;
    });
  };
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Tensor> matched,
                            MatchInputs(original, inputs, other));
  const absl::Status evaluated =
      EvaluateOutputs(other, matched, settings.threads, stop, compare).status();
  if (!first.has_value() || stop.ShouldStop()) QUOTIENT_RETURN_IF_ERROR(evaluated);
  return first;
}

}  // namespace quotient::verify
