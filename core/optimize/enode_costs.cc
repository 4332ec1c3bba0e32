#include "core/optimize/enode_costs.h"

#include <limits>

#include "core/kernels/fusion.h"

namespace quotient::optimize {
namespace {

using domain::ENodeDescription;
using domain::OpWord;
using egraph::ENodeId;

constexpr double kEpilogueShare = 0.1;
constexpr double kImpossible = std::numeric_limits<double>::infinity();

std::vector<kernels::Operand> Operands(const ENodeDescription& description) {
  std::vector<kernels::Operand> operands;
  for (const domain::ENodeOperand& input : description.inputs) {
    kernels::Operand& operand = operands.emplace_back();
    if (!input.present) continue;  // left out: no type
    operand.type = input.measured;
    operand.constant = input.weight_only;
  }
  return operands;
}

// A bias is added where a contraction writes its result anyway: it costs less than the noise of a
// measurement. Costing the operator without it keeps that noise from deciding whether work should
// be folded into a bias.
void DropBias(absl::string_view op, std::vector<kernels::Operand>* operands) {
  if (kernels::IsContraction(op) && op != "MatMul" && operands->size() > 2) operands->resize(2);
}

bool AllStatic(const std::vector<kernels::Operand>& operands, const model::TensorType& output) {
  for (const kernels::Operand& operand : operands) {
    const bool left_out =
        operand.type.dtype == model::DType::kUndefined && !operand.type.has_rank();
    if (!left_out && !operand.type.is_static()) return false;
  }
  return output.is_static();
}

}  // namespace

ENodeCosts::ENodeCosts(const domain::TensorEGraph& tensors, cost::CostModel& model, int threads,
                       int constant_footprint_log2)
    : tensors_(tensors),
      model_(model),
      threads_(threads),
      footprint_log2_(constant_footprint_log2) {
  const egraph::EGraph& graph = *tensors_.egraph;
  costs_.resize(graph.enode_bound(), 0);
  enodes_.resize(graph.enode_bound());
  for (egraph::ClassId cls : graph.classes()) {
    for (ENodeId node : graph.nodes(cls)) AddENode(node);
  }
  Update();
}

void ENodeCosts::AddENode(ENodeId node) {
  const ENodeDescription description = domain::Describe(tensors_, node);
  if (description.free || description.word->sort != OpWord::Sort::kOperator) return;
  std::vector<kernels::Operand> operands = Operands(description);
  ENode& info = enodes_[node.value()];
  info.original = tensors_.Original(node).node.valid();
  if (!AllStatic(operands, description.output.measured)) {
    // A node of the original whose types nobody knows is an opaque e-node. A rule that makes one
    // has nothing to offer.
    if (!info.original) costs_[node.value()] = kImpossible;
    return;
  }
  const absl::string_view op = description.word->name;
  info.main =
      kernels::IsContraction(op) || kernels::IsChainNode({op, description.word->attributes,
                                                          operands, description.output.measured});
  AddEpilogues(node, description, operands);
  DropBias(description.word->name, &operands);
  model::AttributeMap attributes = description.word->attributes;
  if (operands.size() == 2) {
    const domain::ClassData& second =
        tensors_.domain->data(*tensors_.egraph, tensors_.egraph->node(node).children[1]);
    kernels::NoteExponent(description.word->name, second.constant ? &*second.constant : nullptr,
                          &attributes);
  }
  kernels::KernelSpec spec =
      kernels::MakeSpec(description.word->name, attributes, std::move(operands),
                        {description.output.measured}, threads_, footprint_log2_);
  if (!spec.free) info.kernel = KernelIndex(std::move(spec));
}

int ENodeCosts::KernelIndex(kernels::KernelSpec spec) {
  const auto [entry, fresh] =
      kernel_by_key_.emplace(kernels::KernelKey(spec), static_cast<int>(kernels_.size()));
  if (fresh) kernels_.push_back({std::move(spec), false, {}});
  return entry->second;
}

void ENodeCosts::AddEpilogues(ENodeId node, const ENodeDescription& description,
                              const std::vector<kernels::Operand>& operands) {
  const egraph::EGraph& graph = *tensors_.egraph;
  const std::span<const egraph::ClassId> children = graph.node(node).children;
  for (size_t i = 0; i < children.size(); ++i) {
    const kernels::ElementwiseNode fused{description.word->name, description.word->attributes,
                                         operands, description.output.measured,
                                         static_cast<int>(i)};
    for (ENodeId producer : graph.nodes(graph.Find(children[i]))) {
      const OpWord& word = tensors_.domain->word(graph.node(producer).op);
      if (word.sort != OpWord::Sort::kOperator) continue;
      if (kernels::FusesAsEpilogue(word.name, fused)) epilogues_.push_back({node, producer});
    }
  }
}

std::vector<extract::Fusion> ENodeCosts::Fusions() const {
  std::vector<extract::Fusion> fusions;
  for (const Epilogue& epilogue : epilogues_) {
    const double cost = Cost(epilogue.node);
    if (!enodes_[epilogue.producer.value()].main) continue;
    if (cost == kImpossible || Cost(epilogue.producer) == kImpossible) continue;
    fusions.push_back({epilogue.node, epilogue.producer, (1 - kEpilogueShare) * cost});
  }
  return fusions;
}

double ENodeCosts::CostOf(const ENode& node) const {
  const cost::KernelCost& cost = kernels_[node.kernel].cost;
  const bool known = !model_.measures() || cost.source != cost::CostSource::kModel;
  if (basis_ == Basis::kMeasuredOnly && !known && !node.original) {
    return kImpossible;
  }
  return cost.us;
}

int ENodeCosts::Request(std::span<const ENodeId> nodes) {
  int fresh = 0;
  for (ENodeId node : nodes) {
    const int index = enodes_[node.value()].kernel;
    if (index < 0 || kernels_[index].requested) continue;
    kernels_[index].requested = true;
    if (kernels_[index].cost.source != cost::CostSource::kModel) continue;
    model_.Request(kernels_[index].spec);
    ++fresh;
  }
  return fresh;
}

void ENodeCosts::SetBasis(Basis basis) {
  basis_ = basis;
  Update();
}

void ENodeCosts::Update() {
  for (Kernel& kernel : kernels_) {
    kernel.cost =
        basis_ == Basis::kPrior ? model_.Prior(kernel.spec) : model_.Estimate(kernel.spec);
  }
  for (size_t node = 0; node < enodes_.size(); ++node) {
    if (enodes_[node].kernel >= 0) costs_[node] = CostOf(enodes_[node]);
  }
}

}  // namespace quotient::optimize
