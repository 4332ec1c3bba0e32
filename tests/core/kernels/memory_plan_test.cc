// No value may be overwritten before it has been read for the last time.

#include "core/kernels/memory_plan.h"

#include <gtest/gtest.h>

#include <map>

#include "core/kernels/partition.h"
#include "core/kernels/storage.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onednn {
namespace {

// Runs the plan on paper: every byte of the arena knows which slot wrote it last.
class PaperMachine {
 public:
  PaperMachine(const MemoryPlan& plan) : plan_(plan), owner_(plan.arena_bytes, -1) {}

  void Run(const model::Graph& graph, const std::vector<KernelGroup>& groups,
           const std::vector<model::ValueId>& kept) {
    for (const KernelGroup& group : groups) {
      const std::vector<Operand> operands = AllOperands(group.spec);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (!group.operands[i].valid() || operands[i].constant) continue;
        ExpectIntact(graph, SlotOf(group.operands[i], operands[i]), operands[i]);
      }
      for (size_t i = 0; i < group.results.size(); ++i) {
        const Slot slot = SlotOf(group.results[i], group.spec.outputs[i]);
        if (group.spec.free) {  // the owner of the bytes stays
          writer_[slot] = writer_[SlotOf(group.operands[0], group.spec.inputs[0])];
        } else {
          Write(slot, group.spec.outputs[i]);
        }
        last_layout_.insert_or_assign(group.results[i], group.spec.outputs[i]);
      }
    }
    for (model::ValueId id : kept) {
      ExpectIntact(graph, SlotOf(id, last_layout_.at(id)), last_layout_.at(id));
    }
  }

 private:
  void Write(const Slot& slot, const Operand& operand) {
    const Place& place = plan_.places.at(slot);
    ASSERT_TRUE(place.in_arena);
    ASSERT_LE(place.offset + StorageBytes(operand.type), plan_.arena_bytes);
    writer_[slot] = ++writers_;
    for (int64_t i = 0; i < StorageBytes(operand.type); ++i) owner_[place.offset + i] = writers_;
  }

  void ExpectIntact(const model::Graph& graph, const Slot& slot, const Operand& operand) {
    const Place& place = plan_.places.at(slot);
    if (!place.in_arena) return;
    for (int64_t i = 0; i < StorageBytes(operand.type); ++i) {
      ASSERT_EQ(owner_[place.offset + i], writer_[slot])
          << graph.value(slot.first).name << " is overwritten at byte " << i;
    }
  }

  const MemoryPlan& plan_;
  std::vector<int> owner_;  // by byte of the arena
  std::map<Slot, int> writer_;
  std::map<model::ValueId, Operand> last_layout_;
  int writers_ = 0;
};

TEST(MemoryPlanTest, EveryValueIsWholeWhenItIsRead) {
  for (const GraphCase& test_case : AllGraphCases()) {
    SCOPED_TRACE(test_case.name);
    const model::Graph graph = GraphOf(test_case);
    ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {}));
    const GraphBorder border = FindBorder(graph, groups);
    const MemoryPlan plan = PlanMemory(groups, border.outputs);
    PaperMachine(plan).Run(graph, groups, border.outputs);
  }
}

TEST(MemoryPlanTest, ValuesOfDifferentTimesShareMemory) {
  // Six values of 256 bytes in a row, of which no more than two are needed at once; element-wise
  // kernels even write in place, but a product cannot.
  const model::Graph graph = GraphOf({"chain", R"(
    input x: float32[8,8]
    const w: float32[8,8] = random(1)
    a = MatMul(x, w)
    b = MatMul(a, w)
    c = MatMul(b, w)
    d = MatMul(c, w)
    output d
  )"});
  ASSERT_OK_AND_ASSIGN(const auto groups, PartitionGraph(graph, {}));
  EXPECT_EQ(PlanMemory(groups, FindBorder(graph, groups).outputs).arena_bytes, 512);
}

}  // namespace
}  // namespace quotient::kernels::onednn
