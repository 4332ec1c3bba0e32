#include "core/kernels/memory_plan.h"

#include <algorithm>
#include <set>

#include "core/kernels/alignment.h"
#include "core/kernels/fusion.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"
#include "core/kernels/view.h"

namespace quotient::kernels {
namespace {

// Whether an operand is computed and has the same shape and memory order as the kernel's first
// output.
bool LiesAsOutput(const KernelSpec& spec, const Operand& operand) {
  const Operand& output = spec.outputs[0];
  return !operand.constant && operand.type.dtype != model::DType::kUndefined &&
         operand.type.dims() == output.type.dims() &&
         SameMemory(output.type, operand.layout, output.layout);
}

// A piece of memory that holds one or more slots.
struct Buffer {
  int64_t bytes = 0;
  int first = 0;  // First and last group that needs it.
  int last = 0;
  bool is_input = false;
  model::ValueId input;
  int64_t offset = 0;
};

class Planner {
 public:
  explicit Planner(const std::vector<KernelGroup>& groups) : groups_(groups) {}

  MemoryPlan Run(const std::vector<model::ValueId>& kept) {
    FindLastUses(kept);
    for (int i = 0; i < static_cast<int>(groups_.size()); ++i) Visit(i);
    Pack();
    MemoryPlan plan;
    for (const auto& [slot, where] : where_) {
      const Buffer& buffer = buffers_[where.first];
      plan.places[slot] = Place{!buffer.is_input, buffer.input,
                                (buffer.is_input ? 0 : buffer.offset) + where.second};
    }
    plan.arena_bytes = arena_bytes_;
    return plan;
  }

 private:
  // Finds the last group that reads each slot. A read of a view later counts as a read of the
  // viewed value.
  void FindLastUses(const std::vector<model::ValueId>& kept) {
    const std::set<model::ValueId> forever(kept.begin(), kept.end());
    const int end = static_cast<int>(groups_.size());
    for (int i = 0; i < end; ++i) {
      const KernelGroup& group = groups_[i];
      const std::vector<Operand> operands = AllOperands(group.spec);
      for (size_t k = 0; k < operands.size(); ++k) {
        if (group.operands[k].valid() && !operands[k].constant) {
          last_use_[SlotOf(group.operands[k], operands[k])] = i;
        }
      }
      for (size_t k = 0; k < group.results.size(); ++k) {
        if (!group.results[k].valid()) continue;
        int& last = last_use_[SlotOf(group.results[k], group.spec.outputs[k])];
        last = forever.count(group.results[k]) > 0 ? end : std::max(last, i);
      }
    }
    for (auto& [slot, last] : last_use_) {
      if (forever.count(slot.first) > 0) last = end;
    }
  }

  void Visit(int index) {
    const KernelGroup& group = groups_[index];
    const std::vector<Operand> operands = AllOperands(group.spec);
    for (size_t k = 0; k < operands.size(); ++k) {
      if (group.operands[k].valid() && !operands[k].constant)
        PlaceInput(group.operands[k], operands[k], group.spec.storage);
    }
    if (group.spec.free) return AddViews(group);
    for (size_t k = 0; k < group.results.size(); ++k) {
      if (!group.results[k].valid()) continue;
      const Slot slot = SlotOf(group.results[k], group.spec.outputs[k]);
      const int last = last_use_[slot];
      if (const int reused = k == 0 ? InPlace(group, index) : -1; reused >= 0) {
        where_[slot] = {reused, 0};
        buffers_[reused].last = std::max(buffers_[reused].last, last);
        continue;
      }
      where_[slot] = {
          AddBuffer(StorageBytes(group.spec.outputs[k].type, group.spec.storage), index, last), 0};
    }
  }

  void PlaceInput(model::ValueId id, const Operand& operand, Storage storage) {
    const Slot slot = SlotOf(id, operand);
    if (where_.count(slot) > 0) return;
    const int buffer = AddBuffer(StorageBytes(operand.type, storage), 0, 0);
    buffers_[buffer].is_input = true;
    buffers_[buffer].input = id;
    where_[slot] = {buffer, 0};
  }

  void AddViews(const KernelGroup& group) {
    const auto viewed = where_.at(SlotOf(group.operands[0], group.spec.inputs[0]));
    const std::vector<int64_t> offsets = *FreeView(group.spec);
    for (size_t k = 0; k < group.results.size(); ++k) {
      if (!group.results[k].valid()) continue;
      const Slot slot = SlotOf(group.results[k], group.spec.outputs[k]);
      where_[slot] = {viewed.first, viewed.second + offsets[k]};
      Buffer& buffer = buffers_[viewed.first];
      buffer.last = std::max(buffer.last, last_use_[slot]);
    }
  }

  // A buffer that an element-wise kernel may overwrite, or -1: it holds an operand that lies like
  // the output and is read here for the last time. The kernel reads each block of its dense
  // operands before it writes that block. An operand that is broadcast from the same buffer rules
  // this out.
  int InPlace(const KernelGroup& group, int index) const {
    const KernelSpec& spec = group.spec;
    const std::vector<Operand> operands = AllOperands(spec);
    int found = -1;
    for (size_t k = 0; k < operands.size() && found < 0; ++k) {
      if (!group.operands[k].valid() || !MayOverwrite(spec, k)) continue;
      const auto [buffer, offset] = where_.at(SlotOf(group.operands[k], operands[k]));
      const Buffer& candidate = buffers_[buffer];
      const bool is_whole = candidate.bytes == StorageBytes(operands[k].type, spec.storage);
      if (candidate.is_input || candidate.last > index || offset != 0 || !is_whole) continue;
      found = buffer;
    }
    for (size_t k = 0; k < operands.size() && found >= 0; ++k) {
      if (!group.operands[k].valid() || operands[k].constant) continue;
      const auto [buffer, offset] = where_.at(SlotOf(group.operands[k], operands[k]));
      if (buffer == found && (offset != 0 || !LiesAsOutput(spec, operands[k]))) return -1;
    }
    return found;
  }

  int AddBuffer(int64_t bytes, int first, int last) {
    buffers_.push_back({.bytes = bytes, .first = first, .last = last});
    return static_cast<int>(buffers_.size()) - 1;
  }

  // Places the largest buffer first, each at the lowest offset where it overlaps with none that is
  // needed at the same time.
  void Pack() {
    std::vector<Buffer*> order;
    for (Buffer& buffer : buffers_) {
      if (!buffer.is_input) order.push_back(&buffer);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Buffer* a, const Buffer* b) { return a->bytes > b->bytes; });
    std::vector<const Buffer*> placed;  // By offset.
    for (Buffer* buffer : order) {
      int64_t offset = 0;
      for (const Buffer* other : placed) {
        const bool together = other->first <= buffer->last && buffer->first <= other->last;
        if (!together) continue;
        if (offset + buffer->bytes <= other->offset) break;
        offset = std::max(offset, other->offset + Aligned(other->bytes));
      }
      buffer->offset = offset;
      arena_bytes_ = std::max(arena_bytes_, offset + Aligned(buffer->bytes));
      placed.insert(
          std::upper_bound(placed.begin(), placed.end(), buffer,
                           [](const Buffer* a, const Buffer* b) { return a->offset < b->offset; }),
          buffer);
    }
  }

  const std::vector<KernelGroup>& groups_;
  std::map<Slot, int> last_use_;
  std::map<Slot, std::pair<int, int64_t>> where_;  // Buffer and offset inside it.
  std::vector<Buffer> buffers_;
  int64_t arena_bytes_ = 0;
};

}  // namespace

Slot SlotOf(model::ValueId id, const Operand& operand) {
  return {id, CanonicalLayout(operand.type, operand.layout)};
}

bool MayOverwrite(const KernelSpec& spec, size_t operand) {
  const ElementwiseNode main{spec.op, spec.attributes, spec.inputs, spec.outputs[0].type};
  if (IsContraction(spec.op) || !IsChainNode(main)) return false;
  const Operand read = AllOperands(spec)[operand];
  return LiesAsOutput(spec, read) &&
         StorageBytes(read.type, spec.storage) == StorageBytes(spec.outputs[0].type, spec.storage);
}

MemoryPlan PlanMemory(const std::vector<KernelGroup>& groups,
                      const std::vector<model::ValueId>& kept) {
  return Planner(groups).Run(kept);
}

}  // namespace quotient::kernels
