#include "core/pricing/enode_kernels.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "core/kernels/fusion.h"

namespace quotient::pricing {
namespace {

using domain::ENodeDescription;
using egraph::ENodeId;

constexpr uint64_t kNoNumber = ~uint64_t{0};

// A bias is added where a contraction writes its result anyway: it costs less than the noise of a
// measurement. Costing the operator without it keeps that noise from deciding whether work should
// be folded into a bias.
void DropBias(absl::string_view op, std::vector<kernels::Operand>* operands) {
  if (kernels::IsContraction(op) && op != "MatMul" && operands->size() > 2) operands->resize(2);
}

}  // namespace

void ENodeKernels::NumberValues() {
  const egraph::EGraph& graph = *tensors_.egraph;
  value_.assign(graph.class_bound(), 0);
  for (const egraph::ClassId cls : graph.classes()) value_[cls.value()] = NumberOf(cls);
}

// Covers everything of a class that Describe reads, except a constant's value.
uint32_t ENodeKernels::NumberOf(egraph::ClassId cls) {
  const domain::ClassData& data = tensors_.domain->data(*tensors_.egraph, cls);
  SequenceHash hash;
  hash.Add(uint64_t{data.absent} | uint64_t{data.weight_only} << 1 |
           uint64_t{data.constant.has_value()} << 2 | uint64_t{data.kept_constant} << 3 |
           static_cast<uint64_t>(operands_.layout(cls)) << 4 |
           uint64_t{data.measured.has_rank()} << 7 |
           static_cast<uint64_t>(data.measured.dtype) << 8);
  if (data.measured.has_rank()) {
    for (const model::Dim& dim : *data.measured.shape) {
      hash.Add(dim.is_number() ? static_cast<uint64_t>(dim.number()) : kNoNumber);
    }
  }
  return numbers_.try_emplace(hash.value(), static_cast<uint32_t>(numbers_.size())).first->second;
}

// The hash covers everything that Describe reads.
SequenceHash ENodeKernels::HashOf(ENodeId node) const {
  const egraph::EGraph& graph = *tensors_.egraph;
  const egraph::ENodeView view = graph.node(node);
  SequenceHash hash;
  hash.Add(view.op.value());
  for (const egraph::ClassId child : view.children) hash.Add(value_[graph.Find(child).value()]);
  hash.Add(value_[graph.class_of(node).value()]);
  // A constant exponent is the only value that is part of a kernel's spec (NoteExponent).
  if (tensors_.domain->word(view.op).name == "Pow" && view.children.size() == 2) {
    const domain::ClassData& second = tensors_.domain->data(graph, view.children[1]);
    if (second.constant.has_value() && second.constant->elements() == 1) {
      hash.Add(absl::bit_cast<uint64_t>(second.constant->GetDouble(0)));
    }
  }
  return hash;
}

ENodeContent ENodeKernels::ContentOf(ENodeId node, const SequenceHash& hash) {
  const auto [known, fresh] = contents_.try_emplace(hash.value());
  if (fresh) known->second = Describe(node);
  return known->second;
}

ENodeContent ENodeKernels::Describe(ENodeId node) {
  const ENodeDescription description = domain::Describe(tensors_, node);
  ENodeContent content;
  if (description.free) return content;
  content.is_left = true;
  std::vector<kernels::Operand> operands = operands_.Of(node, description);
  content.is_static = AllStatic(operands, description.output.measured);
  if (!content.is_static) return content;
  const absl::string_view op = description.word->name;
  content.elementwise = kernels::IsChainNode(
      {op, description.word->attributes, operands, description.output.measured});
  content.main = kernels::IsContraction(op) || content.elementwise;
  if (const kernels::RuntimeFusions* const runtime = costs_.partition().runtime) {
    content.blocking = runtime->BlockingOf(
        {op, description.word->attributes, operands, description.output.measured});
  }
  DropBias(op, &operands);
  model::AttributeMap attributes = description.word->attributes;
  if (operands.size() == 2) {
    const domain::ClassData& second =
        tensors_.domain->data(*tensors_.egraph, tensors_.egraph->node(node).children[1]);
    kernels::NoteExponent(op, second.constant ? &*second.constant : nullptr, &attributes);
  }
  content.kernel =
      costs_.IndexOf(op, attributes, std::move(operands), {description.output.measured});
  return content;
}

}  // namespace quotient::pricing
