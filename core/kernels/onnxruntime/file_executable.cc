#include "core/kernels/onnxruntime/file_executable.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/kernels/executable_parts.h"

namespace quotient::kernels::onnxruntime {
namespace {

class FileExecutable : public Executable {
 public:
  FileExecutable(HelperClient* client, ModelFile file, const FileValues& values)
      : client_(client), file_(std::move(file)) {
    for (const FileValue& input : values.inputs) {
      input_values_.push_back(input.id);
      input_names_.push_back(input.name);
      input_ports_.push_back({Operand{input.type}});
    }
    for (const FileValue& output : values.outputs) {
      output_values_.push_back(output.id);
      output_names_.push_back(output.name);
      output_types_.push_back(output.type);
    }
  }
  ~FileExecutable() override {
    client_->Unload(session_);
    if (recorded_.has_value()) client_->Unload(*recorded_);
  }

  absl::Status Load() {
    QUOTIENT_ASSIGN_OR_RETURN(session_, client_->Load(file_, Level::kAll));
    return absl::OkStatus();
  }

  absl::Status SetInputs(const std::vector<model::Tensor>& inputs) override {
    QUOTIENT_RETURN_IF_ERROR(CheckInputs(inputs, input_ports_));
    inputs_.clear();
    for (size_t i = 0; i < inputs.size(); ++i) inputs_.push_back({input_names_[i], inputs[i]});
    if (!client_->Has(session_)) QUOTIENT_RETURN_IF_ERROR(Load());
    return client_->Feed(session_, inputs_, output_names_);
  }

  absl::Status Run() override {
    if (!client_->Has(session_)) {
      QUOTIENT_RETURN_IF_ERROR(Load());
      QUOTIENT_RETURN_IF_ERROR(client_->Feed(session_, inputs_, output_names_));
    }
    QUOTIENT_ASSIGN_OR_RETURN(reading_, client_->Run(session_, 1));
    return absl::OkStatus();
  }

  absl::Status RunRecorded() override {
    if (!recorded_.has_value()) {
      QUOTIENT_ASSIGN_OR_RETURN(recorded_, client_->Load(file_, Level::kRecorded));
      QUOTIENT_RETURN_IF_ERROR(client_->Feed(*recorded_, inputs_, output_names_));
    }
    return client_->Run(*recorded_, 1).status();
  }

  absl::StatusOr<std::vector<RecordedKernel>> TakeRecords() override {
    if (!recorded_.has_value()) return absl::FailedPreconditionError("no run was recorded");
    return client_->TakeRecords(*std::exchange(recorded_, std::nullopt));
  }

  std::optional<DeviceReading> reading() const override { return reading_; }

  absl::StatusOr<std::vector<model::Tensor>> GetOutputs() override {
    return client_->Fetch(session_, output_types_);
  }

  const std::vector<model::ValueId>& input_values() const override { return input_values_; }
  const std::vector<model::ValueId>& output_values() const override { return output_values_; }
  int num_kernels() const override { return 1; }

 private:
  // --- Constant after construction
  HelperClient* const client_;
  const ModelFile file_;
  std::vector<model::ValueId> input_values_;
  std::vector<model::ValueId> output_values_;
  std::vector<std::string> input_names_;
  std::vector<Port<const void*>> input_ports_;
  std::vector<std::string> output_names_;
  std::vector<model::TensorType> output_types_;

  std::vector<NamedTensor> inputs_;
  SessionId session_;
  DeviceReading reading_;
  std::optional<SessionId> recorded_;  // The session that RunRecorded runs.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> LoadFile(HelperClient* client, ModelFile file,
                                                     const FileValues& values) {
  auto executable = std::make_unique<FileExecutable>(client, std::move(file), values);
  QUOTIENT_RETURN_IF_ERROR(executable->Load());
  return executable;
}

}  // namespace quotient::kernels::onnxruntime
