#include "core/optimize/file_cost.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/optimize/subject.h"
#include "core/verify/random_inputs.h"
#include "core/verify/reference.h"

namespace quotient::optimize {
namespace {

using model::NodeId;

// The inputs of the file, and what they get.
struct FileInputs {
  kernels::FileValues values;
  std::vector<model::Tensor> tensors;
};

absl::StatusOr<FileInputs> InputsOf(const verify::CutGraph& cut, const FileCostContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Tensor> matched,
                            verify::MatchInputs(context.original, context.inputs, cut));
  FileInputs inputs{.values = {.inputs = InputsOfFile(cut)}};
  for (const kernels::FileValue& value : inputs.values.inputs) {
    const auto at = std::ranges::find(cut.graph.inputs, value.id) - cut.graph.inputs.begin();
    inputs.tensors.push_back(matched[static_cast<size_t>(at)]);
  }
  return inputs;
}

// Finds the nodes of a graph that the kernels of its file come from.
class Origins {
 public:
  Origins(const model::Graph& graph, const std::vector<kernels::FileKernel>& kernels)
      : graph_(graph) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodeId node(static_cast<uint32_t>(i));
      for (const model::ValueId id : graph.nodes[i].outputs) {
        if (id.valid()) node_of_.emplace(graph.value(id).name, node);
      }
      if (!graph.nodes[i].name.empty()) by_name_.emplace(graph.nodes[i].name, node);
    }
    for (const kernels::FileKernel& kernel : kernels) {
      if (const NodeId last = LastOf(kernel); last.valid()) last_nodes_.insert(last);
    }
  }

  // A fused kernel computes the value of its last node. Its first node is found by going backwards
  // to one whose operator the kernel's name ends with, if that takes only a few steps and comes to
  // no other kernel.
  std::vector<NodeId> Of(const kernels::FileKernel& kernel) const {
    constexpr int kMostSteps = 4;
    if (const NodeId last = LastOf(kernel); last.valid()) {
      std::vector<NodeId> fused = {last};
      for (int step = 0; step < kMostSteps; ++step) {
        const model::Node& here = graph_.node(fused.front());
        if (absl::EndsWith(kernel.op, here.op)) return fused;
        const NodeId before = Before(here);
        if (!before.valid() || last_nodes_.contains(before)) break;
        fused.insert(fused.begin(), before);
      }
      return {last};
    }
    for (const std::string& name : kernel.names) {
      const auto found = by_name_.find(name);
      if (found != by_name_.end()) return {found->second};
    }
    return {};
  }

 private:
  // The node whose value the kernel computes; invalid if that is not known.
  NodeId LastOf(const kernels::FileKernel& kernel) const {
    for (const std::string& name : kernel.names) {
      const auto found = node_of_.find(name);
      if (found != node_of_.end()) return found->second;
    }
    return NodeId();
  }

  // The node that computes the first input.
  NodeId Before(const model::Node& node) const {
    if (node.inputs.empty() || !node.inputs[0].valid()) return NodeId();
    const auto found = node_of_.find(graph_.value(node.inputs[0]).name);
    return found == node_of_.end() ? NodeId() : found->second;
  }

  const model::Graph& graph_;
  absl::flat_hash_map<std::string, NodeId> node_of_;  // By the names of the values they compute.
  absl::flat_hash_map<std::string, NodeId> by_name_;
  absl::flat_hash_set<NodeId> last_nodes_;  // Of all kernels.
};

absl::StatusOr<cost::GraphCost> Cost(Device& device, const kernels::ModelFile& file,
                                     const Prepared& prepared, const FileCostContext& context,
                                     absl::FunctionRef<StopCondition()> until) {
  QUOTIENT_ASSIGN_OR_RETURN(const FileInputs inputs, InputsOf(prepared.cut, context));
  absl::StatusOr<kernels::FileKernels> file_kernels;
  // A job waits for this, and kernels that nobody waits for any more may be in the queue.
  device.lane()->RunUrgent([&] {
    file_kernels = device.backend()->KernelsOfFile(file, inputs.values, inputs.tensors,
                                                   context.footprint_log2);
  });
  QUOTIENT_RETURN_IF_ERROR(file_kernels.status());
  cost::CostModel& costs = device.costs();
  for (const kernels::FileKernel& kernel : file_kernels->kernels) {
    if (kernel.spec.has_value()) costs.Request(*kernel.spec);
  }
  costs.Wait(until());
  const Origins origins(prepared.cut.graph, file_kernels->kernels);
  cost::GraphCost result;
  for (kernels::FileKernel& kernel : file_kernels->kernels) {
    if (!kernel.spec.has_value()) continue;
    kernels::KernelGroup& group = result.groups.emplace_back();
    group.nodes = origins.Of(kernel);
    group.label = std::move(kernel.label);
    group.spec = *std::move(kernel.spec);
  }
  return cost::AtPresent(std::move(result), costs);
}

}  // namespace

FileCostContext NewFileCostContext(const Prepared& original, uint64_t seed) {
  return {.original = original.cut, .inputs = verify::RandomInputs(original.cut.graph, seed)};
}

std::optional<cost::GraphCost> CostOfFile(Device& device, const kernels::ModelFile& file,
                                          const Prepared& prepared, const FileCostContext& context,
                                          absl::FunctionRef<StopCondition()> until) {
  if (!device.runs_files()) return std::nullopt;
  absl::StatusOr<cost::GraphCost> cost = Cost(device, file, prepared, context, until);
  if (cost.ok()) return *std::move(cost);
  Log().info("the kernels of a file are not known: {}", std::string(cost.status().message()));
  return std::nullopt;
}

}  // namespace quotient::optimize
