#include "core/kernels/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/attention.h"
#include "core/kernels/fusion.h"
#include "core/kernels/kernel_nodes.h"
#include "core/kernels/layout.h"
#include "core/kernels/layout_plan.h"
#include "core/kernels/storage.h"
#include "core/kernels/view.h"

namespace quotient::kernels {
namespace {

using model::Graph;
using model::Node;
using model::NodeId;
using model::ValueId;

bool IsStatic(const Graph& graph, const std::vector<ValueId>& ids) {
  return std::all_of(ids.begin(), ids.end(),
                     [&](ValueId id) { return !id.valid() || graph.value(id).type.is_static(); });
}

// Decides which live nodes run as kernels. A type that is not static is an error, unless it comes
// from an opaque node.
absl::StatusOr<std::vector<bool>> ChooseNodes(const Graph& graph) {
  const std::vector<bool> live = model::LiveNodes(graph);
  std::vector<bool> runs(graph.nodes.size(), false);
  std::vector<bool> behind_opaque(graph.values.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!live[i]) continue;
    runs[i] = RunsAsKernel(graph, node);
    if (runs[i]) continue;
    const bool excused =
        node.is_opaque() || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
          return id.valid() && behind_opaque[id.value()];
        });
    if (!excused) {
      return MakeError(Reason::kShapeMissing,
                       absl::StrCat("node '", node.name, "' (", node.op,
                                    "): its shapes are not known: bind the input's dimensions"));
    }
    for (ValueId id : node.outputs) {
      if (id.valid()) behind_opaque[id.value()] = true;
    }
  }
  return runs;
}

// The footprint class of the constants that the running nodes read, each counted once.
int ConstantFootprint(const Graph& graph, const std::vector<bool>& runs, Storage storage) {
  std::set<ValueId> seen;
  int64_t bytes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!runs[i]) continue;
    for (ValueId id : graph.nodes[i].inputs) {
      if (id.valid() && graph.is_constant(id) && seen.insert(id).second) {
        bytes += StorageBytes(graph.value(id).type, storage);
      }
    }
  }
  return FootprintLog2(bytes);
}

class Partitioner {
 public:
  Partitioner(const Graph& graph, const PartitionOptions& options, std::vector<bool> runs)
      : graph_(graph),
        options_(options),
        runs_(std::move(runs)),
        home_(graph.values.size(), Layout::kPlain),
        footprint_(ConstantFootprint(graph, runs_, options.storage)) {
    if (options.runtime != nullptr) {
      blocking_ = BlockingOfNodes(graph, runs_, *options.runtime);
    } else if (options.channels_last) {
      home_ = PlanLayouts(graph, runs_);
    }
  }

  std::vector<KernelGroup> Run() {
    for (const KernelNodes& kernel :
         FindKernels(graph_, runs_, options_.fuses_attention, options_.runtime)) {
      if (kernel.attention) {
        AddAttention(*kernel.attention);
      } else {
        AddKernel(kernel.nodes);
      }
    }
    return std::move(groups_);
  }

 private:
  // A kernel with that operator, without inputs and outputs.
  KernelGroup NewGroup(const std::vector<NodeId>& nodes, absl::string_view op,
                       model::AttributeMap attributes) const {
    KernelGroup group;
    group.nodes = nodes;
    group.spec.op = std::string(op);
    group.spec.attributes = std::move(attributes);
    group.spec.threads = options_.threads;
    group.spec.storage = options_.storage;
    return group;
  }

  void AddAttention(const Attention& attention) {
    KernelGroup group = NewGroup(attention.nodes, kAttentionOp, attention.attributes);
    group.operands = attention.operands;
    for (const ValueId id : group.operands) {
      const Operand operand{graph_.value(id).type, graph_.is_constant(id)};
      if (!operand.constant) MakeAvailable(id, operand);
      group.spec.inputs.push_back(operand);
    }
    group.results = {attention.result};
    group.spec.outputs = {Operand{graph_.value(attention.result).type}};
    Finish(std::move(group));
  }

  void AddKernel(const std::vector<NodeId>& chain) {
    const Node& main = graph_.node(chain.front());
    const Node& last = graph_.node(chain.back());
    KernelGroup group = NewGroup(chain, main.op, AttributesOf(main));
    KernelSpec& spec = group.spec;
    for (ValueId id : last.outputs) {
      group.results.push_back(id);
      spec.outputs.push_back(
          id.valid() ? Operand{graph_.value(id).type, false, OutputLayout(main, id)} : Operand{});
    }
    const size_t num_inputs = BareOperands(graph_, main).size();
    for (size_t i = 0; i < num_inputs; ++i) {
      spec.inputs.push_back(ReadOperand(chain.front(), i, spec.outputs, group));
    }
    AddEpilogue(chain, group);
    Finish(std::move(group));
  }

  void Finish(KernelGroup group) {
    KernelSpec& spec = group.spec;
    const std::vector<Operand> all = AllOperands(spec);
    const bool any_constant = std::any_of(all.begin(), all.end(),
                                          [](const Operand& operand) { return operand.constant; });
    spec.constant_footprint_log2 = any_constant ? footprint_ : 0;
    spec.free = FreeView(spec).has_value();
    const bool blocks = !blocking_.empty() && !group.nodes.empty();
    for (size_t i = 0; i < group.results.size(); ++i) {
      if (!group.results[i].valid()) continue;
      MarkAvailable(group.results[i],
                    blocks ? BlockedOutput(group.nodes.back()) : spec.outputs[i].layout);
    }
    groups_.push_back(std::move(group));
  }

  void AddEpilogue(const std::vector<NodeId>& chain, KernelGroup& group) {
    ValueId running = graph_.node(chain.front()).outputs[0];
    for (size_t k = 1; k < chain.size(); ++k) {
      const Node& node = graph_.node(chain[k]);
      Epilogue epilogue{.op = node.op, .attributes = AttributesOf(node)};
      const int position = InputPosition(node, running);
      epilogue.running_is_second = position == 1;
      const size_t num_inputs = BareOperands(graph_, node).size();
      for (size_t i = 0; i < num_inputs; ++i) {
        if (static_cast<int>(i) == position) continue;
        epilogue.operands.push_back(ReadOperand(chain[k], i, group.spec.outputs, group));
      }
      group.spec.epilogue.push_back(std::move(epilogue));
      running = node.outputs[0];
    }
  }

  model::AttributeMap AttributesOf(const Node& node) const {
    model::AttributeMap attributes = node.attributes;
    if (node.inputs.size() == 2 && graph_.is_constant(node.inputs[1])) {
      NoteExponent(node.op, &*graph_.value(node.inputs[1]).constant, &attributes);
    }
    return attributes;
  }

  // The layout in which a kernel with main node `main` writes `id`.
  Layout OutputLayout(const Node& main, ValueId id) const {
    if (!options_.channels_last || !HasLayout(graph_.value(id).type)) return Layout::kPlain;
    switch (RoleOf(main.op)) {
      case LayoutRole::kChannelsLast:
        return Layout::kChannelsLast;
      case LayoutRole::kPlain:
        return Layout::kPlain;
      default:
        return home_[id.value()];
    }
  }

  // Input `index` of a node of the group as the kernel reads it. Adds a reorder first if necessary.
  Operand ReadOperand(NodeId reader, size_t index, const std::vector<Operand>& outputs,
                      KernelGroup& group) {
    const Node& node = graph_.node(reader);
    const ValueId id = node.inputs[index];
    group.operands.push_back(id);
    if (!id.valid()) return Operand{};
    const Operand operand{graph_.value(id).type, graph_.is_constant(id),
                          InputLayout(node, index, outputs)};
    if (!operand.constant) {
      Operand stored = operand;
      if (!blocking_.empty()) stored.layout = BlockedInput(reader, index);
      MakeAvailable(id, stored);
    }
    return operand;
  }

  // Where a runtime has layouts of its own, kChannelsLast stands for its blocked one.
  Layout BlockedOutput(NodeId node) const {
    return blocking_[node.value()] == Blocking::kNever ? Layout::kPlain : Layout::kChannelsLast;
  }
  Layout BlockedInput(NodeId reader, size_t index) const {
    const bool reads = blocking_[reader.value()] == Blocking::kAlways &&
                       (index == 0 || !IsContraction(graph_.node(reader).op));
    return reads ? Layout::kChannelsLast : Layout::kPlain;
  }

  Layout InputLayout(const Node& node, size_t index, const std::vector<Operand>& outputs) const {
    const ValueId id = node.inputs[index];
    const model::TensorType& type = graph_.value(id).type;
    if (!options_.channels_last || !HasLayout(type)) return Layout::kPlain;
    const bool constant = graph_.is_constant(id);
    switch (RoleOf(node.op)) {
      case LayoutRole::kChannelsLast:
        return index == 0 ? Layout::kChannelsLast : Layout::kPlain;
      case LayoutRole::kTied: {
        const Operand& output = outputs[0];
        const bool alike = output.type.has_rank() && output.type.rank() == type.rank();
        if (alike) return output.layout;
        return constant ? Layout::kPlain : home_[id.value()];
      }
      case LayoutRole::kAny:
        return constant ? Layout::kPlain : home_[id.value()];
      case LayoutRole::kPlain:
        return Layout::kPlain;
    }
    return Layout::kPlain;
  }

  void MarkAvailable(ValueId id, Layout layout) {
    available_[id].push_back(CanonicalLayout(graph_.value(id).type, layout));
  }

  // Makes sure that a kernel can read `id` in the operand's layout.
  void MakeAvailable(ValueId id, const Operand& operand) {
    const Layout wanted = CanonicalLayout(operand.type, operand.layout);
    std::vector<Layout>& layouts = available_[id];
    // Graph inputs arrive in the layout that was planned for them.
    if (layouts.empty()) layouts.push_back(CanonicalLayout(operand.type, home_[id.value()]));
    if (std::find(layouts.begin(), layouts.end(), wanted) != layouts.end()) return;
    KernelGroup reorder;
    reorder.spec =
        MakeReorder(operand.type, layouts.front(), wanted, options_.threads, options_.storage);
    reorder.operands = {id};
    reorder.results = {id};
    layouts.push_back(wanted);
    groups_.push_back(std::move(reorder));
  }

  const Graph& graph_;
  const PartitionOptions options_;
  const std::vector<bool> runs_;
  std::vector<Layout> home_;        // By value.
  std::vector<Blocking> blocking_;  // By node; empty without a runtime.
  const int footprint_;
  std::map<ValueId, std::vector<Layout>> available_;  // Canonical layouts, first produced first.
  std::vector<KernelGroup> groups_;
};

}  // namespace

bool RunsAsKernel(const Graph& graph, const Node& node) {
  return !node.is_opaque() && IsStatic(graph, node.inputs) && IsStatic(graph, node.outputs);
}

int ConstantFootprintLog2(const Graph& graph, Storage storage) {
  std::vector<bool> runs = model::LiveNodes(graph);
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i] = runs[i] && RunsAsKernel(graph, graph.nodes[i]);
  }
  return ConstantFootprint(graph, runs, storage);
}

absl::StatusOr<std::vector<KernelGroup>> PartitionGraph(const Graph& graph,
                                                        const PartitionOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<bool> runs, ChooseNodes(graph));
  return Partitioner(graph, options, std::move(runs)).Run();
}

GraphBorder FindBorder(const Graph& graph, const std::vector<KernelGroup>& groups) {
  std::set<ValueId> written, read;
  for (const KernelGroup& group : groups) {
    for (model::NodeId id : group.nodes) {
      const model::Node& node = graph.node(id);
      written.insert(node.outputs.begin(), node.outputs.end());
      read.insert(node.inputs.begin(), node.inputs.end());
    }
  }
  GraphBorder border;
  std::set<ValueId> seen;
  const auto add = [&](ValueId id, bool wanted, std::vector<ValueId>& list) {
    if (id.valid() && wanted && seen.insert(id).second) list.push_back(id);
  };
  const std::vector<bool> live = model::LiveNodes(graph);
  for (ValueId id : graph.inputs) add(id, read.count(id) > 0, border.inputs);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i] || RunsAsKernel(graph, graph.nodes[i])) continue;
    for (ValueId id : graph.nodes[i].outputs) add(id, read.count(id) > 0, border.inputs);
  }
  seen.clear();
  for (ValueId id : graph.outputs) add(id, written.count(id) > 0, border.outputs);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i] || RunsAsKernel(graph, graph.nodes[i])) continue;
    for (ValueId id : graph.nodes[i].inputs) add(id, written.count(id) > 0, border.outputs);
  }
  return border;
}

}  // namespace quotient::kernels
