#include "core/pricing/epilogues.h"

#include <utility>

#include "core/kernels/fusion.h"
#include "core/pricing/epilogue_share.h"

namespace quotient::pricing {

using domain::OpWord;
using egraph::ENodeId;

void Epilogues::Add(ENodeId node, const SequenceHash& content) {
  const egraph::EGraph& graph = *tensors_.egraph;
  const std::span<const egraph::ClassId> children = graph.node(node).children;
  for (size_t i = 0; i < children.size(); ++i) {
    for (ENodeId producer : graph.nodes(graph.Find(children[i]))) {
      const OpWord& word = tensors_.domain->word(graph.node(producer).op);
      if (word.sort != OpWord::Sort::kOperator) continue;
      SequenceHash pair = content;
      pair.Add(i);
      pair.Add(word.kind.value());
      const auto [known, fresh] = can_fuse_.try_emplace(pair.value());
      if (fresh) known->second = CanFuse(node, static_cast<int>(i), word.name);
      if (known->second) epilogues_.push_back({node, producer, static_cast<uint32_t>(i)});
    }
  }
}

void Epilogues::Finish(std::span<const ENodeKernel> enodes) {
  std::erase_if(epilogues_, [enodes](const Epilogue& epilogue) {
    const ENodeKernel& producer = enodes[epilogue.producer.value()];
    return !producer.main || producer.kernel < 0 || enodes[epilogue.node.value()].kernel < 0;
  });
  for (Epilogue& epilogue : epilogues_) epilogue.share = ShareOf(epilogue, enodes);
}

double Epilogues::ShareOf(const Epilogue& epilogue, std::span<const ENodeKernel> enodes) {
  const int main = enodes[epilogue.producer.value()].kernel;
  const int alone = enodes[epilogue.node.value()].kernel;
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

bool Epilogues::CanFuse(ENodeId node, int running, absl::string_view main_op) const {
  const domain::ENodeDescription description = domain::Describe(tensors_, node);
  const std::vector<kernels::Operand> operands = operands_.Of(node, description);
  return kernels::FusesAsEpilogue(main_op, {description.word->name, description.word->attributes,
                                            operands, description.output.measured, running});
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
