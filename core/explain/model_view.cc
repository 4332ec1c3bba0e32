#include "core/explain/model_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/report/describe.h"

namespace quotient::explain {

using model::NodeId;
using model::ValueId;

ModelView::ModelView(const model::Graph& graph, const model::Graph& open,
                     const cost::GraphCost& cost)
    : graph_(graph), open_(open), cost_(cost), kernels_(MapKernels(graph, cost)) {
  readers_.resize(graph.values.size());
  is_output_.resize(graph.values.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const NodeId node(static_cast<uint32_t>(n));
    for (const ValueId id : graph.nodes[n].inputs) {
      if (!id.valid()) continue;
      std::vector<NodeId>& readers = readers_[id.value()];
      if (readers.empty() || readers.back() != node) readers.push_back(node);
    }
  }
  for (const ValueId id : graph.outputs) is_output_[id.value()] = true;
  for (size_t v = 0; v < open.values.size(); ++v) {
    open_values_.emplace(open.values[v].name, ValueId(static_cast<uint32_t>(v)));
  }
}

bool ModelView::IsAlone(NodeId id) const {
  const std::optional<size_t> kernel = KernelOf(id);
  return kernel.has_value() && kernels_.nodes[*kernel].size() == 1;
}

bool ModelView::StandsAlone(NodeId id) const {
  if (IsAlone(id)) return true;
  const std::optional<size_t> kernel = KernelOf(id);
  return kernel.has_value() && kernels_.nodes[*kernel].front() == id && node(id).op != "Conv" &&
         OperatorOf(Spec(*kernel)) == "Conv";
}

bool ModelView::IsAlone(NodeId id, absl::string_view op) const {
  return id.valid() && node(id).op == op && IsAlone(id);
}

const std::vector<NodeId>& ModelView::Readers(ValueId id) const { return readers_[id.value()]; }

bool ModelView::IsOutput(ValueId id) const { return is_output_[id.value()]; }

NodeId ModelView::Producer(ValueId id) const {
  return id.valid() ? graph_.value(id).producer : NodeId();
}

NodeId ModelView::OnlyReader(ValueId id) const {
  return Readers(id).size() == 1 && !IsOutput(id) ? Readers(id)[0] : NodeId();
}

bool ModelView::IsConstantOperand(NodeId id, size_t input) const {
  const std::vector<ValueId>& inputs = node(id).inputs;
  if (input >= inputs.size() || !inputs[input].valid()) return true;
  if (!IsConstant(inputs[input])) return false;
  const std::optional<size_t> kernel = KernelOf(id);
  if (!kernel.has_value() || MainOperator(OperatorOf(Spec(*kernel))) != node(id).op ||
      input >= Spec(*kernel).inputs.size()) {
    return true;
  }
  return Spec(*kernel).inputs[input].constant;
}

std::optional<double> ModelView::Number(ValueId id) const {
  if (!IsConstant(id) || graph_.value(id).constant->elements() != 1) return std::nullopt;
  return graph_.value(id).constant->AsDoubles()[0];
}

const model::TensorType& ModelView::OpenType(ValueId id) const {
  const auto found = open_values_.find(graph_.value(id).name);
  return found == open_values_.end() ? Type(id) : open_.value(found->second).type;
}

std::string ModelView::ShapeText(ValueId id) const {
  return absl::StrCat("[", absl::StrJoin(Type(id).dims(), ","), "]");
}

std::string ModelView::Name(NodeId id) const { return report::NameOfNode(graph_, node(id)); }

}  // namespace quotient::explain
