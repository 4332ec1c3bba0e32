#include "core/extract/remembered.h"

#include <span>

namespace quotient::extract {
namespace {

template <typename T>
void Add(const T& number, Digester* digester) {
  digester->Update(std::as_bytes(std::span(&number, 1)));
}

}  // namespace

Digest CostsDigest(const Problem& problem) {
  Digester digester;
  for (uint32_t i = 0; i < problem.graph.enode_bound(); ++i) {
    if (problem.graph.live(ENodeId(i))) Add(problem.cost.Cost(ENodeId(i)), &digester);
  }
  for (const Fusion& fusion : problem.cost.Fusions()) {
    Add(fusion.consumer.value(), &digester);
    Add(fusion.producer.value(), &digester);
    Add(fusion.saving, &digester);
  }
  for (const SharedKernel& kernel : problem.cost.SharedKernels()) {
    Add(kernel.members.size(), &digester);
    for (const ENodeId member : kernel.members) Add(member.value(), &digester);
    Add(kernel.cost, &digester);
  }
  return digester.Finish();
}

}  // namespace quotient::extract
