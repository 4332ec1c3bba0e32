#include "tests/support/fake_backend.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/eval/evaluator.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"
#include "core/kernels/storage.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient::kernels::fake {
namespace {

class FakeKernel : public CompiledKernel {
 public:
  FakeKernel(FakeClock* clock, const FakeOptions& options, KernelSpec spec, const FakePlan& plan)
      : clock_(clock), options_(options), spec_(std::move(spec)), plan_(plan) {}

  absl::Status Run(int times) override {
    for (int i = 0; i < times; ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const double us, options_.run_us(spec_, run_++));
      clock_->Advance(us * plan_.factor);
    }
    return absl::OkStatus();
  }
  std::string plan() const override { return plan_.name; }
  int64_t bytes() const override {
    int64_t bytes = 0;
    for (const Operand& output : spec_.outputs) {
      if (output.type.is_static()) bytes += StorageBytes(output.type);
    }
    return bytes;
  }

 private:
  FakeClock* const clock_;
  const FakeOptions& options_;
  const KernelSpec spec_;
  const FakePlan plan_;
  int run_ = 0;
};

class FakeExecutable : public Executable {
 public:
  FakeExecutable(FakeClock* clock, const FakeOptions& options, const model::Graph& graph,
                 std::vector<KernelGroup> groups, const PlanChoice& plans)
      : clock_(clock), options_(options), graph_(graph), groups_(std::move(groups)) {
    for (const KernelGroup& group : groups_) {
      factors_.push_back(FactorOf(plans ? plans(group.spec) : ""));
    }
    const GraphBorder border = FindBorder(graph_, groups_);
    inputs_ = border.inputs;
    outputs_ = border.outputs;
  }

  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    if (inputs.size() != inputs_.size()) {
      return absl::InvalidArgumentError("fake executable: wrong number of inputs");
    }
    for (size_t i = 0; i < inputs.size(); ++i) values_.insert_or_assign(inputs_[i], inputs[i]);
    return absl::OkStatus();
  }

  absl::Status Run() override {
    return RunInSteps([] {});
  }

  absl::Status RunInSteps(absl::FunctionRef<void()> after) override {
    last_us_ = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].spec.free) continue;
      QUOTIENT_ASSIGN_OR_RETURN(const double us, options_.run_us(groups_[i].spec, run_));
      clock_->Advance(us * factors_[i]);
      last_us_ += us * factors_[i];
      after();
    }
    if (options_.overhead_us) {
      const double us = options_.overhead_us(graph_);
      clock_->Advance(us);
      last_us_ += us;
    }
    ++run_;
    return absl::OkStatus();
  }

  // The device has a clock of its own, so that no machine's clock decides what is measured.
  std::optional<DeviceReading> reading() const override {
    return DeviceReading{last_us_, !options_.disturbed || !options_.disturbed()};
  }

  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override {
    QUOTIENT_ASSIGN_OR_RETURN(eval::ValueMap computed,
                              eval::Evaluate(graph_, values_, outputs_, options_.threads));
    std::vector<model::Tensor> outputs;
    for (model::ValueId id : outputs_) outputs.push_back(computed.at(id));
    return outputs;
  }

  const std::vector<model::ValueId>& input_values() const override { return inputs_; }
  const std::vector<model::ValueId>& output_values() const override { return outputs_; }
  int num_kernels() const override {
    int count = 0;
    for (const KernelGroup& group : groups_) count += group.spec.free ? 0 : 1;
    return count;
  }

 private:
  // The factor of the plan with that name, or of the first plan.
  double FactorOf(const std::string& plan) const {
    for (const FakePlan& known : options_.plans) {
      if (known.name == plan) return known.factor;
    }
    return options_.plans.front().factor;
  }

  FakeClock* const clock_;
  const FakeOptions& options_;
  const model::Graph graph_;
  const std::vector<KernelGroup> groups_;
  std::vector<double> factors_;  // By group.
  std::vector<model::ValueId> inputs_, outputs_;
  eval::ValueMap values_;
  int run_ = 0;
  double last_us_ = 0;
};

// The graph of a file, whose values go by the ids that its user knows them by.
class FakeFile : public Executable {
 public:
  FakeFile(std::unique_ptr<Executable> runs, model::Graph graph, const FileValues& values)
      : runs_(std::move(runs)), graph_(std::move(graph)) {
    inputs_ = Known(runs_->input_values(), values.inputs);
    outputs_ = Known(runs_->output_values(), values.outputs);
  }

  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    return runs_->SetInputs(inputs);
  }
  absl::Status Run() override { return runs_->Run(); }
  std::optional<DeviceReading> reading() const override { return runs_->reading(); }
  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override { return runs_->GetOutputs(); }
  const std::vector<model::ValueId>& input_values() const override { return inputs_; }
  const std::vector<model::ValueId>& output_values() const override { return outputs_; }
  int num_kernels() const override { return runs_->num_kernels(); }

 private:
  // What the values of the file's graph are called in `values`.
  std::vector<model::ValueId> Known(const std::vector<model::ValueId>& ids,
                                    const std::vector<FileValue>& values) const {
    std::vector<model::ValueId> known;
    for (const model::ValueId id : ids) {
      const auto at = std::ranges::find(values, graph_.value(id).name, &FileValue::name);
      if (at != values.end()) known.push_back(at->id);
    }
    return known;
  }

  const std::unique_ptr<Executable> runs_;
  const model::Graph graph_;
  std::vector<model::ValueId> inputs_, outputs_;
};

class FakeBackend : public Backend {
 public:
  FakeBackend(FakeClock* clock, FakeOptions options)
      : clock_(clock),
        options_(std::move(options)),
        fingerprint_{options_.fingerprint},
        partition_{.threads = options_.threads} {}

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }

  const PartitionOptions& partition() const override { return partition_; }

  absl::Status health() const override {
    return options_.health ? options_.health() : absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const override {
    QUOTIENT_RETURN_IF_ERROR(options_.run_us(spec, 0).status());
    std::vector<std::unique_ptr<CompiledKernel>> kernels;
    for (const FakePlan& plan : options_.plans) {
      kernels.push_back(std::make_unique<FakeKernel>(clock_, options_, spec, plan));
    }
    return kernels;
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(const model::Graph& graph,
                                                           const PlanChoice& plans) const override {
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<KernelGroup> groups, PartitionGraph(graph, partition_));
    for (const KernelGroup& group : groups) {
      if (!group.spec.free) QUOTIENT_RETURN_IF_ERROR(options_.run_us(group.spec, 0).status());
    }
    return std::make_unique<FakeExecutable>(clock_, options_, graph, std::move(groups), plans);
  }

  bool runs_files() const override { return options_.runs_files; }

  // All types in the file must be static, and all of its nodes understood.
  absl::StatusOr<std::unique_ptr<Executable>> CompileFile(const ModelFile& file,
                                                          const FileValues& values) const override {
    QUOTIENT_ASSIGN_OR_RETURN(
        onnx::Model model, onnx::Read(file.model, file.external_data, onnx::Limits(), file.owner));
    QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(model.graph));
    QUOTIENT_ASSIGN_OR_RETURN(auto graph, CompileGraph(model.graph, {}));
    return std::make_unique<FakeFile>(std::move(graph), std::move(model.graph), values);
  }

 private:
  FakeClock* const clock_;
  const FakeOptions options_;
  const DeviceFingerprint fingerprint_;
  const PartitionOptions partition_;
};

}  // namespace

double FakeCostUs(const KernelSpec& spec) {
  double bytes = 0, multiply_adds = 0;
  for (const Operand& operand : AllOperands(spec)) {
    if (operand.type.dtype != model::DType::kUndefined) {
      bytes += static_cast<double>(StorageBytes(operand.type));
    }
  }
  for (const Operand& output : spec.outputs) {
    if (output.type.dtype == model::DType::kUndefined) continue;
    bytes += static_cast<double>(StorageBytes(output.type));
  }
  if (IsContraction(spec.op)) {
    const ops::Products products = ops::FindOp(spec.op)->contraction.products(
        spec.attributes, spec.inputs[0].type.dims(), spec.inputs[1].type.dims(),
        spec.outputs[0].type.dims());
    multiply_adds = products.batch * products.m * products.n * products.k;
  }
  const bool plain = IsContraction(spec.op) && spec.inputs[0].layout == Layout::kPlain;
  return 1.0 + bytes * 1e-5 + multiply_adds * 5e-6 * (plain ? 1.5 : 1.0);
}

std::unique_ptr<Backend> NewFakeBackend(FakeClock* clock, FakeOptions options) {
  if (!options.run_us) {
    options.run_us = [](const KernelSpec& spec, int) -> absl::StatusOr<double> {
      return FakeCostUs(spec);
    };
  }
  return std::make_unique<FakeBackend>(clock, std::move(options));
}

}  // namespace quotient::kernels::fake
