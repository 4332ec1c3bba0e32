#include "core/kernels/cuda/executable.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/device_memory.h"
#include "core/kernels/cuda/lanes.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/executable_parts.h"
#include "core/kernels/memory_plan.h"
#include "core/kernels/partition.h"

namespace quotient::kernels::cuda {
namespace {

using model::Graph;
using model::ValueId;

// A kernel of the graph with its buffers.
struct Group {
  std::shared_ptr<const PreparedKernel> kernel;
  PreparedKernel::Bindings bindings;
  Access access;
  std::string journal_name;
};

class GraphExecutable : public Executable {
 public:
  explicit GraphExecutable(const SharedParts& shared)
      : gpu_(*shared.gpu),
        library_(*shared.library),
        constants_(*shared.constants),
        journal_(shared.journal),
        memory_(shared.gpu),
        clock_(shared.clock) {}

  absl::Status Build(const Graph& graph, const PartitionOptions& partition, const PlanChoice& plans,
                     int lanes) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<KernelGroup> groups,
                              PartitionGraph(graph, partition));
    border_ = FindBorder(graph, groups);
    QUOTIENT_RETURN_IF_ERROR(PlaceValues(graph, PlanMemory(groups, border_.outputs)));
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<Kernel> kernels, KernelsOf(graph, groups, plans));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].spec.free) continue;
      const absl::Status status = AddGroup(graph, groups[i], std::move(kernels[i]));
      if (!status.ok()) return Annotate(status, Describe(graph, groups[i]));
    }
    for (ValueId id : border_.inputs) inputs_.push_back(PortOf(graph, id));
    for (ValueId id : border_.outputs) outputs_.push_back(PortOf(graph, id));
    return CaptureAll(lanes);
  }

  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    QUOTIENT_RETURN_IF_ERROR(CheckInputs(inputs, inputs_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<std::byte> bytes = Pack(inputs[i], inputs_[i].operand.layout);
      if (bytes.empty()) continue;
      QUOTIENT_RETURN_IF_ERROR(
          gpu_.Upload(inputs_[i].address, bytes.data(), static_cast<int64_t>(bytes.size())));
    }
    return absl::OkStatus();
  }

  absl::Status Run() override {
    if (replay_ == nullptr) return absl::OkStatus();  // Nothing to run.
    if (!all_returned_) QUOTIENT_RETURN_IF_ERROR(RunEachAlone());
    all_returned_ = true;
    QUOTIENT_ASSIGN_OR_RETURN(const Reading reading, replay_->Run());
    reading_ = clock_.Judge(reading);
    return absl::OkStatus();
  }

  std::optional<DeviceReading> reading() const override { return reading_; }

  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override {
    std::vector<model::Tensor> outputs;
    for (const Port<DeviceAddress>& port : outputs_) {
      std::vector<std::byte> bytes(static_cast<size_t>(BytesOf(port.operand)));
      if (!bytes.empty()) {
        QUOTIENT_RETURN_IF_ERROR(
            gpu_.Download(bytes.data(), port.address, static_cast<int64_t>(bytes.size())));
      }
      outputs.push_back(Unpack(port.operand, bytes));
    }
    return outputs;
  }

  const std::vector<ValueId>& input_values() const override { return border_.inputs; }
  const std::vector<ValueId>& output_values() const override { return border_.outputs; }
  int num_kernels() const override { return static_cast<int>(groups_.size()); }

 private:
  absl::Status PlaceValues(const Graph& graph, const MemoryPlan& plan) {
    QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress arena, memory_.Allocate(plan.arena_bytes));
    for (const auto& [slot, place] : plan.places) {
      DeviceAddress base = arena;
      if (!place.in_arena) {
        const auto [input, fresh] = input_buffers_.try_emplace(place.input);
        if (fresh) {
          QUOTIENT_ASSIGN_OR_RETURN(
              input->second, memory_.Allocate(BytesOf(Operand{graph.value(place.input).type})));
        }
        base = input->second;
      }
      addresses_[slot] = base + static_cast<DeviceAddress>(place.offset);
    }
    return absl::OkStatus();
  }

  using Kernel = std::shared_ptr<const PreparedKernel>;

  // The kernel of each group that is no view, null for views. All are compiled at once, because
  // each may take a second. Groups share the kernel of equal specs, but not one that uses the host.
  absl::StatusOr<std::vector<Kernel>> KernelsOf(const Graph& graph,
                                                const std::vector<KernelGroup>& groups,
                                                const PlanChoice& plans) {
    std::vector<KernelLibrary::Named> named;
    std::map<std::string, size_t> places;  // In `named`, by key.
    for (const KernelGroup& group : groups) {
      if (group.spec.free || !places.emplace(KernelKey(group.spec), named.size()).second) continue;
      named.emplace_back(&group.spec, plans ? plans(group.spec) : "");
    }
    auto compiled = library_.GetAll(named);
    std::set<size_t> taken;
    std::vector<Kernel> kernels;
    for (const KernelGroup& group : groups) {
      Kernel& kernel = kernels.emplace_back();
      if (group.spec.free) continue;
      const size_t place = places.at(KernelKey(group.spec));
      if (!compiled[place].ok()) return Annotate(compiled[place].status(), Describe(graph, group));
      kernel = *compiled[place];
      if (taken.insert(place).second || !kernel->uses_host()) continue;
      QUOTIENT_ASSIGN_OR_RETURN(kernel, library_.Get(group.spec, named[place].second));
    }
    return kernels;
  }

  absl::Status AddGroup(const Graph& graph, const KernelGroup& group, Kernel kernel) {
    Group added;
    added.kernel = std::move(kernel);
    added.journal_name = JournalName(KernelKey(group.spec), added.kernel->name());
    const std::vector<Operand> operands = AllOperands(group.spec);
    for (size_t i = 0; i < operands.size(); ++i) {
      const ValueId id = group.operands[i];
      const bool computed = id.valid() && !operands[i].constant;
      added.bindings.operands.push_back(computed ? addresses_.at(SlotOf(id, operands[i])) : 0);
      if (computed) added.access.reads.push_back(IntervalOf(id, operands[i]));
    }
    for (size_t i = 0; i < group.results.size(); ++i) {
      const ValueId id = group.results[i];
      const Operand& output = group.spec.outputs[i];
      added.bindings.outputs.push_back(id.valid() ? addresses_.at(SlotOf(id, output)) : 0);
      if (id.valid()) added.access.writes.push_back(IntervalOf(id, output));
    }
    for (const PackedConstant& constant : added.kernel->program().constants) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, PackOnce(graph, group, constant));
      added.bindings.constants.push_back(address);
    }
    groups_.push_back(std::move(added));
    return absl::OkStatus();
  }

  Interval IntervalOf(ValueId id, const Operand& operand) const {
    const DeviceAddress begin = addresses_.at(SlotOf(id, operand));
    return {begin, begin + static_cast<DeviceAddress>(BytesOf(operand))};
  }

  // Kernels that need a constant in the same form share it, even between graphs.
  absl::StatusOr<DeviceAddress> PackOnce(const Graph& graph, const KernelGroup& group,
                                         const PackedConstant& constant) {
    std::vector<const model::Tensor*> tensors;
    for (size_t i = 0; i < group.operands.size(); ++i) {
      const ValueId id = group.operands[i];
      tensors.push_back(id.valid() && graph.is_constant(id) ? &*graph.value(id).constant : nullptr);
    }
    std::shared_ptr<const Buffer>& buffer = packed_[NameOf(group, constant)];
    if (buffer == nullptr) {
      const std::vector<std::byte> bytes = Pack(constant, tensors);
      if (bytes.empty()) return DeviceAddress{0};
      QUOTIENT_ASSIGN_OR_RETURN(buffer, constants_.Get(bytes));
    }
    return buffer->address();
  }

  static std::string NameOf(const KernelGroup& group, const PackedConstant& constant) {
    using Form = PackedConstant::Form;
    std::string name = absl::StrCat(
        static_cast<int>(constant.form), " ", model::DTypeName(constant.type), " ",
        std::bit_cast<uint64_t>(constant.epsilon), " ", std::bit_cast<uint64_t>(constant.value),
        " ", constant.elements, " ", absl::StrJoin(constant.permutation, ","));
    if (constant.form == Form::kFilled) return name;
    const int count = constant.form == Form::kPermuted ? 1 : 4;
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&name, " ", group.operands[constant.operand + i].value());
    }
    return name;
  }

  absl::Status CaptureAll(int lanes) {
    if (groups_.empty()) return absl::OkStatus();
    std::vector<Access> accesses;
    for (const Group& group : groups_) accesses.push_back(group.access);
    const std::vector<LaneStep> places = AssignLanes(accesses, lanes);
    std::vector<int64_t> workspace_bytes(static_cast<size_t>(lanes), 0);
    for (size_t i = 0; i < groups_.size(); ++i) {
      int64_t& bytes = workspace_bytes[places[i].lane];
      bytes = std::max(bytes, groups_[i].kernel->workspace_bytes());
    }
    std::vector<DeviceAddress> workspaces;
    for (const int64_t bytes : workspace_bytes) {
      QUOTIENT_ASSIGN_OR_RETURN(const DeviceAddress address, memory_.Allocate(bytes));
      workspaces.push_back(address);
    }
    std::vector<Step> steps;
    std::vector<int> last;  // Step by group.
    for (size_t i = 0; i < groups_.size(); ++i) {
      const size_t first = steps.size();
      groups_[i].bindings.workspace = workspaces[places[i].lane];
      groups_[i].kernel->AppendSteps(groups_[i].bindings, &steps);
      for (size_t k = first; k < steps.size(); ++k) steps[k].lane = places[i].lane;
      // A kernel without launches has an empty output, so nothing waits for it.
      if (first < steps.size()) {
        for (const int group : places[i].after) {
          if (last[group] >= 0) steps[first].after.push_back(last[group]);
        }
      }
      last.push_back(first < steps.size() ? static_cast<int>(steps.size()) - 1 : -1);
    }
    if (steps.empty()) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(replay_, gpu_.Capture(steps));
    return absl::OkStatus();
  }

  // Unless all kernels of the graph have run in this process before, runs them one by one, so that
  // the journal bars only the one that crashes. All of them run, because the results of one are the
  // operands of others.
  absl::Status RunEachAlone() {
    const auto has_returned = [this](const Group& group) {
      return journal_->HasReturned(group.journal_name);
    };
    if (journal_ == nullptr || std::ranges::all_of(groups_, has_returned)) return absl::OkStatus();
    for (const Group& group : groups_) {
      std::vector<Step> steps;
      group.kernel->AppendSteps(group.bindings, &steps);
      if (steps.empty()) continue;
      QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<Replay> alone, gpu_.Capture(steps));
      const absl::Status status =
          RunByJournal(journal_, gpu_, {group.journal_name}, [&] { return alone->Run(); }).status();
      if (!status.ok()) return Annotate(status, group.kernel->name());
    }
    return absl::OkStatus();
  }

  Port<DeviceAddress> PortOf(const Graph& graph, ValueId id) const {
    const auto buffer = input_buffers_.find(id);
    return kernels::PortOf(
        graph, id, addresses_,
        buffer == input_buffers_.end() ? std::nullopt : std::optional(buffer->second));
  }

  Gpu& gpu_;
  KernelLibrary& library_;
  ConstantPool& constants_;
  RunJournal* const journal_;  // May be null.
  GraphBorder border_;
  DeviceMemory memory_;
  std::map<ValueId, DeviceAddress> input_buffers_;
  std::map<Slot, DeviceAddress> addresses_;
  std::map<std::string, std::shared_ptr<const Buffer>> packed_;
  std::vector<Group> groups_;
  bool all_returned_ = false;                 // Whether all kernels have run in this process.
  std::vector<Port<DeviceAddress>> inputs_;   // Parallel to border_.inputs.
  std::vector<Port<DeviceAddress>> outputs_;  // Parallel to border_.outputs.
  std::unique_ptr<Replay> replay_;            // Declared after what it launches.
  ClockWatch clock_;
  std::optional<DeviceReading> reading_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CompileExecutable(const Graph& graph,
                                                              const PartitionOptions& partition,
                                                              const PlanChoice& plans, int lanes,
                                                              const SharedParts& shared) {
  auto executable = std::make_unique<GraphExecutable>(shared);
  QUOTIENT_RETURN_IF_ERROR(executable->Build(graph, partition, plans, std::max(lanes, 1)));
  return executable;
}

}  // namespace quotient::kernels::cuda
