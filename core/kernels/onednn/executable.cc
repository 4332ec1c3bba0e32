#include "core/kernels/onednn/executable.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/executable_parts.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/onednn/aligned_buffer.h"
#include "core/kernels/onednn/make_kernel.h"
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
  std::vector<AlignedBuffer> packed;
  std::vector<const void*> operands;
  std::vector<const void*> constants;
  std::vector<void*> outputs;
};

class GraphExecutable : public Executable {
 public:
  static absl::StatusOr<std::unique_ptr<Executable>> Create(const Graph& graph,
                                                            const PartitionOptions& partition) {
    auto executable = std::unique_ptr<GraphExecutable>(new GraphExecutable(partition.threads));
    QUOTIENT_RETURN_IF_ERROR(executable->Build(graph, partition));
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
    for (const Step& step : steps_) {
      QUOTIENT_RETURN_IF_ERROR(step.kernel->Run(
          {step.operands, step.constants, step.outputs, scratch_.get()}, step.state.get()));
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

  absl::Status Build(const Graph& graph, const PartitionOptions& partition) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<KernelGroup> groups,
                              PartitionGraph(graph, partition));
    border_ = FindBorder(graph, groups);
    const MemoryPlan plan = PlanMemory(groups, border_.outputs);
    arena_ = AllocateAligned(plan.arena_bytes);
    if (arena_ == nullptr) return OutOfMemory(plan.arena_bytes);
    for (const auto& [slot, place] : plan.places) {
      QUOTIENT_ASSIGN_OR_RETURN(data_[slot], Locate(graph, place));
    }
    cpu::SetThreads(threads_);
    int64_t scratch_bytes = 0;
    for (const KernelGroup& group : groups) {
      if (group.spec.free) continue;
      const absl::Status status = AddStep(graph, group);
      if (!status.ok()) return Annotate(status, Describe(graph, group));
      scratch_bytes = std::max(scratch_bytes, steps_.back().kernel->scratch_bytes());
    }
    scratch_ = AllocateAligned(scratch_bytes);
    if (scratch_ == nullptr) return OutOfMemory(scratch_bytes);
    for (ValueId id : border_.inputs) inputs_.push_back(PortOf(graph, id));
    for (ValueId id : border_.outputs) outputs_.push_back(PortOf(graph, id));
    return absl::OkStatus();
  }

  static absl::Status OutOfMemory(int64_t bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }

  absl::StatusOr<void*> Locate(const Graph& graph, const Place& place) {
    if (place.in_arena) return arena_.get() + place.offset;
    AlignedBuffer& buffer = input_buffers_[place.input];
    if (buffer == nullptr) {
      const int64_t bytes = StorageBytes(graph.value(place.input).type);
      buffer = AllocateAligned(bytes);
      if (buffer == nullptr) return OutOfMemory(bytes);
    }
    return buffer.get() + place.offset;
  }

  absl::Status AddStep(const Graph& graph, const KernelGroup& group) {
    Step step;
    QUOTIENT_ASSIGN_OR_RETURN(step.kernel, MakeKernel(group.spec));
    step.state = step.kernel->NewState();
    const std::vector<Operand> operands = AllOperands(group.spec);
    std::vector<const model::Tensor*> tensors(operands.size(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueId id = group.operands[i];
      const bool computed = id.valid() && !operands[i].constant;
      if (id.valid() && operands[i].constant) tensors[i] = &*graph.value(id).constant;
      step.operands.push_back(computed ? data_.at(SlotOf(id, operands[i])) : nullptr);
    }
    for (size_t i = 0; i < group.results.size(); ++i) {
      const ValueId id = group.results[i];
      step.outputs.push_back(id.valid() ? data_.at(SlotOf(id, group.spec.outputs[i])) : nullptr);
    }
    QUOTIENT_RETURN_IF_ERROR(PackConstants(tensors, step));
    steps_.push_back(std::move(step));
    return absl::OkStatus();
  }

  static absl::Status PackConstants(const std::vector<const model::Tensor*>& tensors, Step& step) {
    std::vector<void*> packed;
    for (const cpu::PackedConstant& constant : step.kernel->constants()) {
      step.packed.push_back(AllocateAligned(constant.bytes));
      if (step.packed.back() == nullptr) return OutOfMemory(constant.bytes);
      packed.push_back(step.packed.back().get());
    }
    step.constants.assign(packed.begin(), packed.end());
    return step.kernel->Pack(tensors, packed);
  }

  Port<void*> PortOf(const Graph& graph, ValueId id) const {
    const auto buffer = input_buffers_.find(id);
    return kernels::PortOf(
        graph, id, data_,
        buffer == input_buffers_.end() ? std::nullopt : std::optional<void*>(buffer->second.get()));
  }

  const int threads_;
  GraphBorder border_;
  AlignedBuffer arena_;
  AlignedBuffer scratch_;
  std::map<ValueId, AlignedBuffer> input_buffers_;
  std::map<Slot, void*> data_;
  std::vector<Step> steps_;
  std::vector<Port<void*>> inputs_;   // Parallel to border_.inputs.
  std::vector<Port<void*>> outputs_;  // Parallel to border_.outputs.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const Graph& graph,
                                                              const PartitionOptions& partition) {
  return GraphExecutable::Create(graph, partition);
}

}  // namespace quotient::kernels::onednn
