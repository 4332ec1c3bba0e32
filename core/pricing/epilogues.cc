#include "core/pricing/epilogues.h"

#include <utility>

#include "core/kernels/runtime_fusions.h"
#include "core/pricing/epilogue_share.h"

namespace quotient::pricing {

using domain::OpWord;
using egraph::ENodeId;

void Epilogues::Find(std::span<const Elementwise> nodes, std::span<const ENodeKernel> enodes) {
  epilogues_.clear();
  for (const Elementwise& each : nodes) {
    if (enodes[each.node.value()].kernel >= 0) Add(each, enodes);
  }
}

void Epilogues::Add(const Elementwise& elementwise, std::span<const ENodeKernel> enodes) {
  const egraph::EGraph& graph = *tensors_.egraph;
  const ENodeId node = elementwise.node;
  const std::span<const egraph::ClassId> children = graph.node(node).children;
  for (uint32_t i = 0; i < children.size(); ++i) {
    SequenceHash running = elementwise.content;
    running.Add(i);
    std::vector<Fuses>* by_kind = nullptr;  // Looked up if there is a producer.
    for (const ENodeId producer : graph.nodes(graph.Find(children[i]))) {
      const ENodeKernel& main = enodes[producer.value()];
      if (!main.main || main.kernel < 0) continue;
      if (by_kind == nullptr) by_kind = &fuses_[running.value()];
      const size_t kind = graph.kind(producer).value();
      if (kind >= by_kind->size()) by_kind->resize(kind + 1, Fuses::kUnknown);
      Fuses& fuses = (*by_kind)[kind];
      if (fuses == Fuses::kUnknown) {
        const OpWord& word = tensors_.domain->word(graph.node(producer).op);
        fuses = CanFuse(node, static_cast<int>(i), word.name) ? Fuses::kYes : Fuses::kNo;
      }
      if (fuses == Fuses::kNo) continue;
      epilogues_.push_back({node, producer, ShareOf(main.kernel, enodes[node.value()].kernel, i)});
    }
  }
}

double Epilogues::ShareOf(int main, int alone, uint32_t running) {
  const auto [known, fresh] = shares_.try_emplace(std::tuple(main, alone, running));
  if (!fresh) return known->second;
  const kernels::KernelSpec spec = prices_.Spec(alone);
  kernels::Epilogue behind = {.op = spec.op,
                              .attributes = spec.attributes,
                              .operands = spec.inputs,
                              .running_is_second = running == 1};
  behind.operands.erase(behind.operands.begin() + running);
  return known->second =
             EpilogueShare(prices_.Spec(main), std::move(behind), spec, prices_.model());
}

bool Epilogues::CanFuse(ENodeId node, int running, absl::string_view producer) const {
  const domain::ENodeDescription description = domain::Describe(tensors_, node);
  const std::vector<kernels::Operand> operands = operands_.Of(node, description);
  return kernels::RunsAsEpilogue(prices_.model().partition().runtime, producer, producer,
                                 {description.word->name, description.word->attributes, operands,
                                  description.output.measured, running});
}

void Epilogues::AddFusions(std::span<const double> costs,
                           std::vector<extract::Fusion>* fusions) const {
  for (const Epilogue& epilogue : epilogues_) {
    const double cost = costs[epilogue.node.value()];
    if (cost == kImpossible || costs[epilogue.producer.value()] == kImpossible) continue;
    fusions->push_back({epilogue.node, epilogue.producer, (1 - epilogue.share) * cost});
  }
}

}  // namespace quotient::pricing
