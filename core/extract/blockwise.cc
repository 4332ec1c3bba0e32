#include "core/extract/blockwise.h"

#include <span>
#include <utility>

#include "core/extract/block_outline.h"
#include "core/extract/blocks.h"
#include "core/extract/choice.h"
#include "core/extract/improve.h"
#include "core/extract/needed.h"

namespace quotient::extract {
namespace {

// Chooses from all classes of an instance, block by block from the bottom up. Blocks that are in
// the memory are not searched again.
class BlockwiseSearch {
 public:
  BlockwiseSearch(const Instance& whole, BlockMemory& memory, const StopCondition& stop)
      : whole_(whole),
        memory_(memory),
        stop_(stop),
        blocks_(whole, FindNeeded(whole)),
        outlines_(whole, blocks_),
        cost_(blocks_.size()),
        choice_(whole.num_classes()) {}

  std::vector<Node> Run() {
    for (uint32_t id = 0; id < choice_.size(); ++id) choice_[id] = blocks_.free_node(Class(id));
    for (size_t i = 0; i < blocks_.size(); ++i) Solve(i);
    return std::move(choice_);
  }

 private:
  void Solve(size_t i) {
    const BlockOutline& outline = outlines_.Of(i, cost_);
    const BlockMemory::Solution* const known = memory_.Find(outline.content);
    if (known != nullptr && Write(*known, outline, i)) {
      cost_[i] = known->cost;
      return;
    }
    BlockMemory::Solution solution = Search(blocks_.Make(i, cost_));
    Write(solution, outline, i);
    cost_[i] = solution.cost;
    if (!stop_.ShouldStop()) memory_.Remember(outline.content, std::move(solution));
  }

  BlockMemory::Solution Search(const Instance& block) const {
    const Choice found = Improve(block, ChooseTree(block), stop_);
    BlockMemory::Solution solution = {.cost = found.cost};
    for (uint32_t id = 0; id < block.num_classes(); ++id) {
      solution.choice.push_back(found.nodes[id].value() - block.nodes[id].front().value());
    }
    return solution;
  }

  // Writes the choices for classes that are in the block. False if the solution is for another
  // block, which happens if two contents have equal hashes.
  bool Write(const BlockMemory::Solution& solution, const BlockOutline& outline, size_t block) {
    if (solution.choice.size() != outline.classes.size()) return false;
    for (size_t i = 0; i < outline.classes.size(); ++i) {
      const Class id = outline.classes[i];
      if (blocks_.block_of(id) != block) continue;
      const std::span<const Node> nodes = whole_.nodes[id.value()];
      if (solution.choice[i] >= nodes.size()) return false;
      choice_[id.value()] = nodes[solution.choice[i]];
    }
    return true;
  }

  const Instance& whole_;
  BlockMemory& memory_;
  const StopCondition& stop_;
  Blocks blocks_;
  BlockOutlines outlines_;
  std::vector<double> cost_;  // By block, once solved.
  std::vector<Node> choice_;  // By Class; invalid where nothing is chosen yet.
};

}  // namespace

std::vector<Node> ChooseBlockwise(const Instance& instance, BlockMemory& memory,
                                  const StopCondition& stop) {
  return BlockwiseSearch(instance, memory, stop).Run();
}

}  // namespace quotient::extract
