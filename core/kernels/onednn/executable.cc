#include "core/kernels/onednn/executable.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/alignment.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/executable_parts.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/partition.h"
#include "core/kernels/storage.h"
#include "core/os/files.h"

namespace quotient::kernels::onednn {
namespace {

using model::Graph;
using model::ValueId;

// A kernel with everything it needs.
struct Step {
  std::unique_ptr<cpu::Kernel> kernel;
  std::unique_ptr<cpu::KernelState> state;
  std::vector<std::shared_ptr<const std::byte>> packed;  // Parallel to the kernel's constants.
  std::vector<const void*> operands;
  std::vector<const void*> constants;
  std::vector<void*> outputs;
};

absl::Status OutOfMemory(int64_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
}

// Packs the constants of kernels, so that equal ones are in memory once. They are packed into
// memory that is used again and again, because touching fresh memory takes longer than packing,
// unless they are so large that the memory for both would count.
class Packer {
 public:
  Packer(const Graph& graph, ConstantPool& constants) : graph_(graph), constants_(constants) {}

  absl::Status Pack(const KernelGroup& group, Step& step) {
    if (step.kernel->constants().empty()) return absl::OkStatus();
    // Equal kernels that read the same values have the same constants, as in layers that share
    // their weights.
    const auto [entry, is_new] = packed_.try_emplace(NameOf(group));
    if (is_new) QUOTIENT_RETURN_IF_ERROR(PackNew(group, *step.kernel, &entry->second));
    step.packed = entry->second;
    for (const auto& constant : step.packed) step.constants.push_back(constant.get());
    return absl::OkStatus();
  }

 private:
  using Constants = std::vector<std::shared_ptr<const std::byte>>;

  static std::string NameOf(const KernelGroup& group) {
    std::string name = KernelKey(group.spec);
    const std::vector<Operand> operands = AllOperands(group.spec);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].constant) absl::StrAppend(&name, " ", group.operands[i].value());
    }
    return name;
  }

  absl::Status PackNew(const KernelGroup& group, const cpu::Kernel& kernel, Constants* packed) {
    std::vector<const model::Tensor*> tensors;
    const std::vector<Operand> operands = AllOperands(group.spec);
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool given = group.operands[i].valid() && operands[i].constant;
      tensors.push_back(given ? &*graph_.value(group.operands[i]).constant : nullptr);
    }
    QUOTIENT_ASSIGN_OR_RETURN(const Staged staged, Stage(kernel));
    QUOTIENT_RETURN_IF_ERROR(kernel.Pack(tensors, staged.places));
    for (size_t i = 0; i < staged.places.size(); ++i) {
      const std::span bytes(static_cast<const std::byte*>(staged.places[i]),
                            static_cast<size_t>(kernel.constants()[i].bytes));
      const auto keep = [&](std::span<const std::byte> given) -> Shared {
        if (staged.own[i] != nullptr) return staged.own[i];
        return Copy(given);
      };
      QUOTIENT_ASSIGN_OR_RETURN(packed->emplace_back(), constants_.Get(bytes, keep));
    }
    ReleaseRead(tensors);
    return absl::OkStatus();
  }

  // Where the constants of a kernel are packed into, and who owns what is not used again.
  struct Staged {
    std::vector<void*> places;
    std::vector<std::shared_ptr<const std::byte>> own;  // Parallel; else null.
  };

  absl::StatusOr<Staged> Stage(const cpu::Kernel& kernel) {
    int64_t bytes = 0;
    for (const cpu::PackedConstant& constant : kernel.constants()) {
      if (constant.bytes <= kMostStaged) bytes += Aligned(constant.bytes);
    }
    if (bytes > staged_bytes_) {
      staged_ = AllocateAligned(bytes);
      staged_bytes_ = staged_ != nullptr ? bytes : 0;
      if (staged_ == nullptr) return OutOfMemory(bytes);
    }
    Staged staged;
    int64_t offset = 0;
    for (const cpu::PackedConstant& constant : kernel.constants()) {
      if (constant.bytes > kMostStaged) {
        QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<std::byte> own, Alone(constant.bytes));
        staged.places.push_back(own.get());
        staged.own.push_back(std::move(own));
        continue;
      }
      staged.places.push_back(staged_.get() + offset);
      staged.own.push_back(nullptr);
      offset += Aligned(constant.bytes);
    }
    return staged;
  }

  // What was read of mapped files is not needed any more. Now and then their memory is given back.
  void ReleaseRead(std::span<const model::Tensor* const> tensors) {
    for (const model::Tensor* const tensor : tensors) {
      if (tensor != nullptr) read_bytes_ += static_cast<int64_t>(tensor->bytes().size());
    }
    if (read_bytes_ < kMostRead) return;
    os::ReleaseMappedFiles();
    read_bytes_ = 0;
  }

  using Shared = absl::StatusOr<std::shared_ptr<const std::byte>>;

  Shared Copy(std::span<const std::byte> bytes) {
    const auto size = static_cast<int64_t>(bytes.size());
    QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<std::byte> copy,
                              size < kHugePageBytes ? FromSlab(size) : Alone(size));
    std::ranges::copy(bytes, copy.get());
    return copy;
  }

  static absl::StatusOr<std::shared_ptr<std::byte>> Alone(int64_t bytes) {
    AlignedBuffer buffer = AllocateAligned(bytes);
    if (buffer == nullptr) return OutOfMemory(bytes);
    return std::shared_ptr<std::byte>(std::move(buffer));
  }

  // Smaller constants lie side by side, because only what fills whole huge pages gets them, and
  // weights in small pages come from memory at two thirds of the rate. The slab lives as long as
  // one of its constants.
  absl::StatusOr<std::shared_ptr<std::byte>> FromSlab(int64_t bytes) {
    if (slab_ == nullptr || slab_used_ + bytes > kSlabBytes) {
      QUOTIENT_ASSIGN_OR_RETURN(slab_, Alone(kSlabBytes));
      slab_used_ = 0;
    }
    const std::shared_ptr<std::byte> part(slab_, slab_.get() + slab_used_);
    slab_used_ += Aligned(bytes);
    return part;
  }

  static constexpr int64_t kSlabBytes = 4 * kHugePageBytes;
  static constexpr int64_t kMostStaged = int64_t{1} << 25;
  static constexpr int64_t kMostRead = int64_t{1} << 26;

  const Graph& graph_;
  ConstantPool& constants_;
  AlignedBuffer staged_;  // For all but the largest constants.
  int64_t staged_bytes_ = 0;
  int64_t read_bytes_ = 0;           // Of tensors, since mapped files were released.
  std::shared_ptr<std::byte> slab_;  // Where small constants go.
  int64_t slab_used_ = 0;            // Its bytes that are taken.
  absl::flat_hash_map<std::string, Constants> packed_;
};

class GraphExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(const Graph& graph,
                                                            const PartitionOptions& partition,
                                                            ConstantPool& constants) {
    auto executable = std::unique_ptr<GraphExecutable>(new GraphExecutable(partition.threads));
    QUOTIENT_RETURN_IF_ERROR(executable->Build(graph, partition, constants));
    return executable;
  }

  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    QUOTIENT_RETURN_IF_ERROR(CheckInputs(inputs, inputs_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      cpu::PackTensor(inputs[i], inputs_[i].operand.layout, inputs_[i].address);
    }
    return absl::OkStatus();
  }

  absl::Status Run() override {
    cpu::SetThreads(threads_);
    for (const Step& step : steps_) QUOTIENT_RETURN_IF_ERROR(RunStep(step));
    return absl::OkStatus();
  }

  absl::Status RunInSteps(absl::FunctionRef<void()> after) override {
    cpu::SetThreads(threads_);
    for (const Step& step : steps_) {
      QUOTIENT_RETURN_IF_ERROR(RunStep(step));
      after();
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override {
    std::vector<model::Tensor> outputs;
    for (const Port<void*>& port : outputs_)
      outputs.push_back(cpu::UnpackTensor(port.operand, port.address));
    return outputs;
  }

  const std::vector<ValueId>& input_values() const override { return border_.inputs; }
  const std::vector<ValueId>& output_values() const override { return border_.outputs; }
  int num_kernels() const override { return static_cast<int>(steps_.size()); }

 private:
  explicit GraphExecutable(int threads) : threads_(threads) {}

  absl::Status Build(const Graph& graph, const PartitionOptions& partition,
                     ConstantPool& constants) {
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<KernelGroup> groups, PartitionGraph(graph, partition));
    border_ = FindBorder(graph, groups);
    const MemoryPlan plan = PlanMemory(groups, border_.outputs);
    std::erase_if(groups, [](const KernelGroup& group) { return group.spec.free; });
    cpu::SetThreads(threads_);
    for (const KernelGroup& group : groups) QUOTIENT_RETURN_IF_ERROR(AddKernel(graph, group));
    QUOTIENT_RETURN_IF_ERROR(Allocate(graph, plan));
    Packer packer(graph, constants);
    for (size_t i = 0; i < groups.size(); ++i) {
      Bind(groups[i], steps_[i]);
      const absl::Status status = packer.Pack(groups[i], steps_[i]);
      if (!status.ok()) return Annotate(status, Describe(graph, groups[i]));
    }
    for (ValueId id : border_.inputs) inputs_.push_back(PortOf(graph, id));
    for (ValueId id : border_.outputs) outputs_.push_back(PortOf(graph, id));
    return absl::OkStatus();
  }

  absl::Status AddKernel(const Graph& graph, const KernelGroup& group) {
    absl::StatusOr<std::unique_ptr<cpu::Kernel>> kernel = MakeKernel(group.spec);
    if (!kernel.ok()) return Annotate(kernel.status(), Describe(graph, group));
    Step& step = steps_.emplace_back();
    step.kernel = *std::move(kernel);
    step.state = step.kernel->NewState();
    return absl::OkStatus();
  }

  absl::Status RunStep(const Step& step) const {
    return step.kernel->Run({step.operands, step.constants, step.outputs, scratch_},
                            step.state.get());
  }

  // One piece of memory has the values that kernels compute, the inputs, and what one kernel at a
  // time uses while it runs.
  absl::Status Allocate(const Graph& graph, const MemoryPlan& plan) {
    int64_t bytes = Aligned(plan.arena_bytes);
    std::map<ValueId, int64_t> inputs;  // Offsets.
    for (const auto& [slot, place] : plan.places) {
      if (place.in_arena || !inputs.emplace(place.input, bytes).second) continue;
      bytes += Aligned(StorageBytes(graph.value(place.input).type));
    }
    int64_t scratch_bytes = 0;
    for (const Step& step : steps_) {
      scratch_bytes = std::max(scratch_bytes, step.kernel->scratch_bytes());
    }
    arena_ = AllocateAligned(bytes + scratch_bytes);
    if (arena_ == nullptr) return OutOfMemory(bytes + scratch_bytes);
    scratch_ = arena_.get() + bytes;
    for (const auto& [input, offset] : inputs) input_buffers_[input] = arena_.get() + offset;
    for (const auto& [slot, place] : plan.places) {
      std::byte* const base = place.in_arena ? arena_.get() : input_buffers_.at(place.input);
      data_[slot] = base + place.offset;
    }
    return absl::OkStatus();
  }

  void Bind(const KernelGroup& group, Step& step) const {
    const std::vector<Operand> operands = AllOperands(group.spec);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueId id = group.operands[i];
      const bool computed = id.valid() && !operands[i].constant;
      step.operands.push_back(computed ? data_.at(SlotOf(id, operands[i])) : nullptr);
    }
    for (size_t i = 0; i < group.results.size(); ++i) {
      const ValueId id = group.results[i];
      step.outputs.push_back(id.valid() ? data_.at(SlotOf(id, group.spec.outputs[i])) : nullptr);
    }
  }

  Port<void*> PortOf(const Graph& graph, ValueId id) const {
    const auto buffer = input_buffers_.find(id);
    return kernels::PortOf(
        graph, id, data_,
        buffer == input_buffers_.end() ? std::nullopt : std::optional<void*>(buffer->second));
  }

  const int threads_;
  GraphBorder border_;
  AlignedBuffer arena_;
  std::byte* scratch_ = nullptr;  // In the arena, as are the inputs.
  std::map<ValueId, std::byte*> input_buffers_;
  std::map<Slot, void*> data_;
  std::vector<Step> steps_;
  std::vector<Port<void*>> inputs_;   // Parallel to border_.inputs.
  std::vector<Port<void*>> outputs_;  // Parallel to border_.outputs.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const Graph& graph,
                                                              const PartitionOptions& partition,
                                                              ConstantPool& constants) {
  return GraphExecutable::Create(graph, partition, constants);
}

}  // namespace quotient::kernels::onednn
