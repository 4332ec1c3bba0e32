#include "core/pricing/enode_costs.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "absl/base/casts.h"
#include "absl/hash/hash.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"
#include "core/kernels/layout_plan.h"
#include "core/pricing/epilogue_share.h"

namespace quotient::pricing {
namespace {

using domain::ENodeDescription;
using domain::OpWord;
using egraph::ENodeId;

constexpr uint64_t kNoNumber = ~uint64_t{0};
constexpr double kImpossible = std::numeric_limits<double>::infinity();

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

ENodeCosts::ENodeCosts(const domain::TensorEGraph& tensors, KernelPrices* prices,
                       int constant_footprint_log2)
    : tensors_(tensors),
      prices_(*prices),
      partition_(prices->model().partition()),
      footprint_log2_(constant_footprint_log2) {
  Refresh();
}

void ENodeCosts::Refresh() {
  if (prices_.version() != version_) ReadPrices();
  const egraph::EGraph& graph = *tensors_.egraph;
  PlanLayouts();
  costs_.assign(graph.enode_bound(), 0);
  enodes_.assign(graph.enode_bound(), ENode());
  epilogues_.clear();
  attentions_.clear();
  products_.clear();
  slices_.clear();
  for (egraph::ClassId cls : graph.classes()) {
    for (ENodeId node : graph.nodes(cls)) AddENode(node);
  }
  ShareEpilogues();
  AddAttentions();
  AddSplits();
}

void ENodeCosts::PlanLayouts() {
  const egraph::EGraph& graph = *tensors_.egraph;
  kernels::LayoutPlanner planner(graph.class_bound());
  for (const egraph::ClassId cls : graph.classes()) {
    const domain::ClassData& data = tensors_.domain->data(graph, cls);
    planner.AddValue(cls.value(), data.measured, data.weight_only);
  }
  std::vector<uint32_t> inputs;
  for (const egraph::ClassId cls : graph.classes()) {
    for (const ENodeId node : graph.nodes(cls)) {
      const egraph::ENodeView view = graph.node(node);
      const OpWord& word = tensors_.domain->word(view.op);
      if (word.sort != OpWord::Sort::kOperator) continue;
      inputs.clear();
      for (const egraph::ClassId child : view.children) inputs.push_back(graph.Find(child).value());
      const uint32_t output[] = {cls.value()};
      planner.AddOperator(word.name, inputs, output);
    }
  }
  layouts_ = planner.Choose();
}

std::vector<kernels::Operand> ENodeCosts::Operands(ENodeId node,
                                                   const ENodeDescription& description) const {
  const egraph::EGraph& graph = *tensors_.egraph;
  std::vector<kernels::Operand> operands;
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    const domain::ENodeOperand& input = description.inputs[i];
    kernels::Operand& operand = operands.emplace_back();
    if (!input.present) continue;  // left out: no type
    operand.type = input.measured;
    operand.constant = input.weight_only;
    if (kernels::RoleOf(description.word->name) != kernels::LayoutRole::kTied) continue;
    operand.layout = layouts_[graph.Find(graph.node(node).children[i]).value()];
  }
  return operands;
}

void ENodeCosts::AddENode(ENodeId node) {
  const OpWord& word = tensors_.domain->word(tensors_.egraph->node(node).op);
  if (word.sort != OpWord::Sort::kOperator) return;
  const Fingerprint fingerprint = FingerprintOf(node);
  const auto [known, fresh] = contents_.try_emplace(fingerprint.value());
  if (fresh) known->second = ContentOf(node);
  const Content content = known->second;
  ENode& info = enodes_[node.value()];
  info = {content.kernel, tensors_.Original(node).node.valid(), content.main};
  if (content.kernel >= 0) {
    costs_[node.value()] = CostOf(info.kernel, info.original);
  } else if (!content.is_static && !info.original) {
    // A node of the original with unknown types is an opaque e-node. Such an e-node made by a rule
    // could not be costed, so it must not be chosen.
    costs_[node.value()] = kImpossible;
  }
  if (content.elementwise) AddEpilogues(node, fingerprint);
  if (word.name == "Slice") slices_.push_back(node);
  if (partition_.fuses_attention && word.name == "MatMul") products_.push_back(node);
}

void ENodeCosts::AddSplits() {
  splits_.clear();
  for (domain::Split& slices : domain::FindSplits(tensors_, slices_)) {
    const ENodeDescription first = domain::Describe(tensors_, slices.parts.front().slice);
    Split& split = splits_.emplace_back();
    const std::vector<kernels::Operand> inputs = Operands(slices.parts.front().slice, first);
    if (!first.free && AllStatic(inputs, first.output.measured)) {
      const auto axis = static_cast<size_t>(slices.axis());
      std::vector<model::TensorType> outputs;
      for (const domain::SplitOutput& output : domain::OutputsOf(slices)) {
        outputs.push_back(first.output.measured);
        (*outputs.back().shape)[axis] = model::Dim(output.size);
      }
      kernels::KernelSpec spec =
          kernels::MakeSpec("Split", domain::AttributesOf(slices), inputs, std::move(outputs),
                            partition_.threads, footprint_log2_, partition_.storage);
      if (!spec.free) split.kernel = KernelIndex(std::move(spec));
    }
    split.original = domain::IsOfOriginal(tensors_, slices);
    split.slices = std::move(slices);
  }
}

// The fingerprint covers everything that ContentOf reads.
Fingerprint ENodeCosts::FingerprintOf(ENodeId node) const {
  const egraph::EGraph& graph = *tensors_.egraph;
  const egraph::ENodeView view = graph.node(node);
  Fingerprint fingerprint;
  fingerprint.Add(view.op.value());
  const auto add = [&](const domain::ClassData& data) {
    fingerprint.Add(uint64_t{data.absent} | uint64_t{data.weight_only} << 1 |
                    uint64_t{data.constant.has_value()} << 2 |
                    static_cast<uint64_t>(data.measured.dtype) << 8 |
                    uint64_t{data.measured.has_rank()} << 7);
    if (!data.measured.has_rank()) return;
    fingerprint.Add(data.measured.shape->size());
    for (const model::Dim& dim : *data.measured.shape) {
      fingerprint.Add(dim.is_number() ? static_cast<uint64_t>(dim.number()) : kNoNumber);
    }
  };
  for (const egraph::ClassId child : view.children) {
    add(tensors_.domain->data(graph, child));
    fingerprint.Add(static_cast<uint64_t>(layouts_[graph.Find(child).value()]));
  }
  add(tensors_.domain->data(graph, graph.class_of(node)));
  // A constant exponent is the only value that is part of a kernel's spec (NoteExponent).
  if (tensors_.domain->word(view.op).name == "Pow" && view.children.size() == 2) {
    const domain::ClassData& second = tensors_.domain->data(graph, view.children[1]);
    if (second.constant.has_value() && second.constant->elements() == 1) {
      fingerprint.Add(absl::bit_cast<uint64_t>(second.constant->GetDouble(0)));
    }
  }
  return fingerprint;
}

ENodeCosts::Content ENodeCosts::ContentOf(ENodeId node) {
  const ENodeDescription description = domain::Describe(tensors_, node);
  Content content;
  if (description.free) return content;
  std::vector<kernels::Operand> operands = Operands(node, description);
  content.is_static = AllStatic(operands, description.output.measured);
  if (!content.is_static) return content;
  const absl::string_view op = description.word->name;
  content.elementwise = kernels::IsChainNode(
      {op, description.word->attributes, operands, description.output.measured});
  content.main = kernels::IsContraction(op) || content.elementwise;
  DropBias(op, &operands);
  model::AttributeMap attributes = description.word->attributes;
  if (operands.size() == 2) {
    const domain::ClassData& second =
        tensors_.domain->data(*tensors_.egraph, tensors_.egraph->node(node).children[1]);
    kernels::NoteExponent(op, second.constant ? &*second.constant : nullptr, &attributes);
  }
  kernels::KernelSpec spec =
      kernels::MakeSpec(op, attributes, std::move(operands), {description.output.measured},
                        partition_.threads, footprint_log2_, partition_.storage);
  if (!spec.free) content.kernel = KernelIndex(std::move(spec));
  return content;
}

int ENodeCosts::KernelIndex(kernels::KernelSpec spec) {
  const int kernel = prices_.IndexOf(std::move(spec));
  if (static_cast<size_t>(kernel) >= kernels_.size()) kernels_.resize(kernel + 1);
  kernels_[kernel] = Known(kernel);
  return kernel;
}

void ENodeCosts::AddEpilogues(ENodeId node, const Fingerprint& content) {
  const egraph::EGraph& graph = *tensors_.egraph;
  const std::span<const egraph::ClassId> children = graph.node(node).children;
  for (size_t i = 0; i < children.size(); ++i) {
    for (ENodeId producer : graph.nodes(graph.Find(children[i]))) {
      const OpWord& word = tensors_.domain->word(graph.node(producer).op);
      if (word.sort != OpWord::Sort::kOperator) continue;
      Fingerprint pair = content;
      pair.Add(i);
      pair.Add(word.kind.value());
      const auto [known, fresh] = can_fuse_.try_emplace(pair.value());
      if (fresh) known->second = CanFuse(node, static_cast<int>(i), word.name);
      if (known->second) epilogues_.push_back({node, producer, static_cast<uint32_t>(i)});
    }
  }
}

void ENodeCosts::ShareEpilogues() {
  std::erase_if(epilogues_, [this](const Epilogue& epilogue) {
    const ENode& producer = enodes_[epilogue.producer.value()];
    return !producer.main || producer.kernel < 0 || enodes_[epilogue.node.value()].kernel < 0;
  });
  for (Epilogue& epilogue : epilogues_) epilogue.share = ShareOf(epilogue);
}

double ENodeCosts::ShareOf(const Epilogue& epilogue) {
  const int main = enodes_[epilogue.producer.value()].kernel;
  const int alone = enodes_[epilogue.node.value()].kernel;
  const auto [known, fresh] = shares_.try_emplace(std::tuple(main, alone, epilogue.running));
  if (!fresh) return known->second;
  const kernels::KernelSpec spec = prices_.Spec(alone);
  kernels::Epilogue behind = {.op = spec.op,
                              .attributes = spec.attributes,
                              .operands = spec.inputs,
                              .running_is_second = epilogue.running == 1};
  behind.operands.erase(behind.operands.begin() + epilogue.running);
  return known->second =
             EpilogueShare(prices_.Spec(main), std::move(behind), spec, prices_.model());
}

bool ENodeCosts::CanFuse(ENodeId node, int running, absl::string_view main_op) const {
  const ENodeDescription description = domain::Describe(tensors_, node);
  const std::vector<kernels::Operand> operands = Operands(node, description);
  return kernels::FusesAsEpilogue(main_op, {description.word->name, description.word->attributes,
                                            operands, description.output.measured, running});
}

std::vector<extract::Fusion> ENodeCosts::Fusions() const {
  std::vector<extract::Fusion> fusions;
  for (const Epilogue& epilogue : epilogues_) {
    const double cost = Cost(epilogue.node);
    if (cost == kImpossible || Cost(epilogue.producer) == kImpossible) continue;
    fusions.push_back({epilogue.node, epilogue.producer, (1 - epilogue.share) * cost});
  }
  AddAttentionFusions(&fusions);
  return fusions;
}

std::vector<bool> ENodeCosts::Marked(std::span<const ENodeId> nodes) const {
  std::vector<bool> marked(enodes_.size(), false);
  for (const ENodeId node : nodes) marked[node.value()] = true;
  return marked;
}

std::vector<domain::Split::Part> ENodeCosts::ChosenParts(const Split& split,
                                                         const std::vector<bool>& chosen) {
  std::vector<domain::Split::Part> parts;
  for (const domain::Split::Part& part : split.slices.parts) {
    if (chosen[part.slice.value()]) parts.push_back(part);
  }
  return parts;
}

std::vector<const ENodeCosts::Split*> ENodeCosts::Shareable() const {
  std::vector<const Split*> splits;
  for (const Split& split : splits_) {
    if (split.kernel >= 0 && CostOf(split.kernel, split.original) != kImpossible)
      splits.push_back(&split);
  }
  return splits;
}

std::vector<extract::SharedKernel> ENodeCosts::SharedKernels() const {
  std::vector<extract::SharedKernel> shared;
  for (const Split* const split : Shareable()) {
    shared.push_back({.cost = CostOf(split->kernel, split->original)});
    for (const domain::Split::Part& part : split->slices.parts) {
      shared.back().members.push_back(part.slice);
    }
  }
  return shared;
}

std::vector<domain::Split> ENodeCosts::SplitsAmong(std::span<const ENodeId> nodes) const {
  std::vector<domain::Split> splits;
  for (auto& [split, some] : SplitsWithin(Marked(nodes))) splits.push_back(std::move(some));
  return splits;
}

std::vector<std::pair<const ENodeCosts::Split*, domain::Split>> ENodeCosts::SplitsWithin(
    const std::vector<bool>& chosen) const {
  std::vector<std::pair<const Split*, domain::Split>> splits;
  for (const Split& split : splits_) {
    domain::Split some = {.parts = ChosenParts(split, chosen), .dim = split.slices.dim};
    if (some.parts.size() < 2) continue;
    double alone = 0;
    for (const domain::Split::Part& part : some.parts) alone += Cost(part.slice);
    const double together = split.kernel < 0 ? 0 : CostOf(split.kernel, split.original);
    // If the costs are equal, the Split is preferred because the graph then has fewer nodes.
    if (together < alone || (together == alone && some.tiles())) {
      splits.emplace_back(&split, std::move(some));
    }
  }
  return splits;
}

double ENodeCosts::CostOf(int kernel, bool original) const {
  const cost::KernelCost& cost = kernels_[kernel];
  if (original) return cost.us;
  const bool known = cost.source != cost::CostSource::kModel;
  if (cost.unsupported || (basis_ == Basis::kMeasuredOnly && !known)) return kImpossible;
  return cost.us;
}

uint64_t ENodeCosts::KernelsDigest(std::span<const ENodeId> nodes) const {
  std::vector<int> kernels;
  std::vector<bool> alone = Marked(nodes);
  for (const auto& [split, some] : SplitsWithin(alone)) {
    for (const domain::Split::Part& part : some.parts) alone[part.slice.value()] = false;
    if (split->kernel >= 0) kernels.push_back(split->kernel);
  }
  for (const ENodeId node : nodes) {
    const int kernel = enodes_[node.value()].kernel;
    if (kernel >= 0 && alone[node.value()]) kernels.push_back(kernel);
  }
  std::ranges::sort(kernels);
  return absl::HashOf(kernels);
}

std::vector<KernelPrices::Part> ENodeCosts::PartsOf(const extract::Charges& charges) const {
  std::map<int, double> amounts;
  for (const extract::Charges::Node& charge : charges.nodes) {
    const int kernel = enodes_[charge.node.value()].kernel;
    if (kernel < 0) continue;
    const double cost = Cost(charge.node);
    amounts[kernel] += cost > 0 ? 1 - charge.saving / cost : 1;
  }
  const std::vector<const Split*> shareable = Shareable();
  for (const size_t shared : charges.shared) amounts[shareable[shared]->kernel] += 1;
  std::vector<KernelPrices::Part> parts;
  for (const auto& [kernel, amount] : amounts) {
    if (amount > 0) parts.push_back({kernel, static_cast<float>(amount)});
  }
  return parts;
}

int ENodeCosts::Request(std::span<const ENodeId> nodes) {
  std::vector<int> kernels;
  for (const ENodeId node : nodes) {
    const int kernel = enodes_[node.value()].kernel;
    if (kernel >= 0) kernels.push_back(kernel);
  }
  const std::vector<bool> chosen = Marked(nodes);
  for (const Split& split : splits_) {
    if (split.kernel >= 0 && ChosenParts(split, chosen).size() > 1) kernels.push_back(split.kernel);
  }
  for (const auto& [of, kernel] : attentions_) {
    std::vector<ENodeId> all = {of.scores, of.logits, of.softmax, of.weighted};
    std::ranges::copy_if(of.transposes, std::back_inserter(all), &ENodeId::valid);
    if (std::ranges::all_of(all, [&](ENodeId node) { return chosen[node.value()]; })) {
      kernels.push_back(kernel);
    }
  }
  return prices_.Request(kernels);
}

void ENodeCosts::SetBasis(Basis basis) {
  basis_ = basis;
  Update();
}

cost::KernelCost ENodeCosts::Known(int kernel) const {
  return basis_ == Basis::kPrior ? prices_.Prior(kernel) : prices_.Price(kernel);
}

void ENodeCosts::ReadPrices() {
  version_ = prices_.version();
  for (size_t i = 0; i < kernels_.size(); ++i) kernels_[i] = Known(static_cast<int>(i));
}

void ENodeCosts::Update() {
  prices_.UpdateOnly();
  ReadPrices();
  for (size_t node = 0; node < enodes_.size(); ++node) {
    const ENode& info = enodes_[node];
    if (info.kernel >= 0) costs_[node] = CostOf(info.kernel, info.original);
  }
}

}  // namespace quotient::pricing
