#include "core/extract/block_outline.h"

#include "absl/base/casts.h"

namespace quotient::extract {

BlockOutlines::BlockOutlines(const Instance& whole, const Blocks& blocks)
    : whole_(whole),
      blocks_(blocks),
      classes_(whole.num_classes()),
      computed_(whole.num_computed) {}

// Walks breadth-first from the roots and numbers classes as InstanceBuilder does.
const BlockOutline& BlockOutlines::Of(size_t block, std::span<const double> cost) {
  outline_.classes.clear();
  content_ = SequenceHash();
  classes_.Restart();
  computed_.Restart();
  for (const Class root : blocks_.roots(block)) NumberOf(root);
  content_.Add(outline_.classes.size());
  for (size_t i = 0; i < outline_.classes.size(); ++i) AddClass(outline_.classes[i], block, cost);
  outline_.content = content_.value();
  return outline_;
}

uint32_t BlockOutlines::NumberOf(Class id) {
  const uint32_t number = classes_.Of(id.value());
  if (number == outline_.classes.size()) outline_.classes.push_back(id);
  return number;
}

void BlockOutlines::AddClass(Class id, size_t block, std::span<const double> cost) {
  enum Form : uint64_t { kFree, kStandIn, kMember };
  if (const Node free = blocks_.free_node(id); free.valid()) {
    content_.Add(kFree | uint64_t{whole_.rewritten[free.value()]} << 2);
  } else if (const uint32_t its_block = blocks_.block_of(id); its_block != block) {
    content_.Add(kStandIn);
    content_.Add(absl::bit_cast<uint64_t>(blocks_.needed(id) ? 0.0 : cost[its_block]));
  } else {
    const std::span<const Node> nodes = whole_.nodes[id.value()];
    content_.Add(kMember | uint64_t{whole_.inside[id.value()]} << 2 | nodes.size() << 3);
    for (const Node node : nodes) AddNode(node);
  }
}

void BlockOutlines::AddNode(Node node) {
  const uint32_t i = node.value();
  uint64_t computation = 0;
  if (!whole_.computes.empty() && whole_.computes[i] != Instance::kComputesAlone) {
    computation = 1 + uint64_t{computed_.Of(whole_.computes[i])};
  }
  const std::span<const Class> children = whole_.children[i];
  const std::span<const uint32_t> times = whole_.multiplicity[i];
  content_.Add(absl::bit_cast<uint64_t>(whole_.cost[i]));
  content_.Add(computation << 34 | uint64_t{whole_.enode[i].valid()} << 33 |
               uint64_t{whole_.rewritten[i]} << 32 | children.size());
  for (size_t at = 0; at < children.size(); ++at) {
    content_.Add(uint64_t{NumberOf(children[at])} << 32 | times[at]);
  }
}

}  // namespace quotient::extract
