#include "core/kernels/onednn/executable.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/alignment.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/executable_parts.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/make_kernel.h"
#include "core/kernels/onednn/packer.h"
#include "core/kernels/partition.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::onednn {
namespace {

using model::Graph;
using model::ValueId;

// A kernel with everything it needs.
struct Step {
  std::unique_ptr<cpu::Kernel> kernel;
  std::unique_ptr<cpu::KernelState> state;
  PackedConstants packed;  // Parallel to the kernel's constants.
  std::vector<const void*> operands;
  std::vector<const void*> constants;
  std::vector<void*> outputs;
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
      absl::StatusOr<PackedConstants> packed = packer.Pack(groups[i], *steps_[i].kernel);
      if (!packed.ok()) return Annotate(packed.status(), Describe(graph, groups[i]));
      Keep(*std::move(packed), steps_[i]);
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

  static void Keep(PackedConstants packed, Step& step) {
    step.packed = std::move(packed);
    for (const auto& constant : step.packed) step.constants.push_back(constant.get());
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
