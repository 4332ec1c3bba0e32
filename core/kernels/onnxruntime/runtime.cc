#include "core/kernels/onnxruntime/runtime.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/model/dtype.h"
#include "core/model/tensor.h"

namespace quotient::kernels::onnxruntime {
namespace {

// Takes the status. The library has no code of its own for lack of memory.
absl::Status ToStatus(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return absl::OkStatus();
  const std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  for (const char* words : {"bad_alloc", "Failed to allocate memory"}) {
    if (absl::StrContains(message, words)) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory is left: ", message));
    }
  }
  return absl::UnimplementedError(message);
}

// Calls create(&object) and takes the object.
template <typename T, typename Create>
absl::StatusOr<Handle<T>> Make(const OrtApi& api, void (*release)(T*), const Create& create) {
  T* object = nullptr;
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api, create(&object)));
  return Handle<T>(object, release);
}

absl::StatusOr<Handle<OrtValue>> MakeValue(const OrtApi& api, HostTensor& tensor) {
  QUOTIENT_ASSIGN_OR_RETURN(const Handle<OrtMemoryInfo> memory,
                            Make(api, api.ReleaseMemoryInfo, [&](OrtMemoryInfo** info) {
                              return api.CreateCpuMemoryInfo(kOrtDeviceAllocator, kOrtDefaultMemory,
                                                             info);
                            }));
  return Make(api, api.ReleaseValue, [&](OrtValue** value) {
    return api.CreateTensorWithDataAsOrtValue(memory.get(), tensor.bytes.data(),
                                              tensor.bytes.size(), tensor.dims.data(),
                                              tensor.dims.size(), tensor.dtype, value);
  });
}

template <typename T>
std::vector<T*> Pointers(const std::vector<Handle<T>>& handles) {
  std::vector<T*> pointers;
  for (const Handle<T>& handle : handles) pointers.push_back(handle.get());
  return pointers;
}

// From onnxruntime_session_options_config_keys.h: turns off the packing of weights; the file for
// what is large in a dump; from how many bytes on something is.
constexpr char kDisablePrepacking[] = "session.disable_prepacking";
constexpr char kDumpWeights[] = "session.optimized_model_external_initializers_file_name";
constexpr char kLeastDumpWeight[] =
    "session.optimized_model_external_initializers_min_size_in_bytes";
// From onnxruntime_run_options_config_keys.h: at the end of a run, arenas give back what is free.
constexpr char kShrinkArenas[] = "memory.enable_memory_arena_shrinkage";

}  // namespace

absl::Status Session::Feed(std::vector<HostTensor> inputs, std::vector<std::string> outputs) {
  outputs_.clear();
  input_values_.clear();
  inputs_ = std::move(inputs);
  output_names_ = std::move(outputs);
  for (HostTensor& input : inputs_) {
    QUOTIENT_ASSIGN_OR_RETURN(Handle<OrtValue> value, MakeValue(api_, input));
    input_values_.push_back(std::move(value));
  }
  return absl::OkStatus();
}

absl::Status Session::Run(int times) {
  std::vector<const char*> input_names;
  for (const HostTensor& input : inputs_) input_names.push_back(input.name.c_str());
  std::vector<const char*> output_names;
  for (const std::string& name : output_names_) output_names.push_back(name.c_str());
  const std::vector<OrtValue*> inputs = Pointers(input_values_);
  for (int i = 0; i < times; ++i) {
    outputs_.clear();
    std::vector<OrtValue*> outputs(output_names.size(), nullptr);
    const auto run = [&] {
      return ToStatus(
          api_, api_.Run(session_.get(), first_run_.get(), input_names.data(), inputs.data(),
                         inputs.size(), output_names.data(), output_names.size(), outputs.data()));
    };
    absl::Status ran = run();
    // A library that was built without an arena refuses to shrink it.
    if (!ran.ok() &&
        std::exchange(first_run_, Handle<OrtRunOptions>(nullptr, nullptr)) != nullptr) {
      ran = run();
    }
    first_run_.reset();
    for (OrtValue* output : outputs) outputs_.emplace_back(output, api_.ReleaseValue);
    QUOTIENT_RETURN_IF_ERROR(ran);
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorView> Session::Output(size_t index) const {
  OrtValue* const value = outputs_[index].get();
  int is_tensor = 0;
  if (value != nullptr) QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.IsTensor(value, &is_tensor)));
  if (is_tensor == 0) return absl::UnimplementedError("an output is no tensor");
  QUOTIENT_ASSIGN_OR_RETURN(
      const Handle<OrtShapeInfo> shape,
      Make(api_, api_.ReleaseTensorTypeAndShapeInfo,
           [&](OrtShapeInfo** info) { return api_.GetTensorTypeAndShape(value, info); }));
  TensorView tensor{.name = output_names_[index]};
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.GetTensorElementType(shape.get(), &tensor.dtype)));
  size_t rank = 0;
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.GetDimensionsCount(shape.get(), &rank)));
  tensor.dims.resize(rank);
  QUOTIENT_RETURN_IF_ERROR(
      ToStatus(api_, api_.GetDimensions(shape.get(), tensor.dims.data(), rank)));
  const std::optional<model::DType> dtype = model::DTypeFromOnnx(tensor.dtype);
  if (!dtype.has_value() || !model::IsComputable(*dtype)) {
    return absl::UnimplementedError("an output is no tensor of numbers");
  }
  const std::optional<int64_t> size = model::Tensor::ByteSize(*dtype, tensor.dims);
  if (!size.has_value()) return absl::InternalError("an output has no size");
  void* data = nullptr;
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.GetTensorMutableData(value, &data)));
  tensor.bytes = {static_cast<const char*>(data), static_cast<size_t>(*size)};
  return tensor;
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(const Library& library, int threads) {
  const OrtApi& api = library.api;
  QUOTIENT_ASSIGN_OR_RETURN(const Handle<OrtThreadingOptions> options,
                            Make(api, api.ReleaseThreadingOptions, api.CreateThreadingOptions));
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api, api.SetGlobalIntraOpNumThreads(options.get(), threads)));
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api, api.SetGlobalInterOpNumThreads(options.get(), 1)));
  QUOTIENT_ASSIGN_OR_RETURN(Handle<OrtEnv> env, Make(api, api.ReleaseEnv, [&](OrtEnv** env) {
                              return api.CreateEnvWithGlobalThreadPools(kOrtFatal, "quotient",
                                                                        options.get(), env);
                            }));
  return std::unique_ptr<Runtime>(new Runtime(api, std::move(env)));
}

absl::StatusOr<std::unique_ptr<Session>> Runtime::Load(const std::string& path,
                                                       const LoadOptions& how) const {
  QUOTIENT_ASSIGN_OR_RETURN(const Handle<OrtSessionOptions> options,
                            Make(api_, api_.ReleaseSessionOptions, api_.CreateSessionOptions));
  QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.DisablePerSessionThreads(options.get())));
  QUOTIENT_RETURN_IF_ERROR(
      ToStatus(api_, api_.SetSessionGraphOptimizationLevel(
                         options.get(), how.optimizes ? kOrtOptimizeAll : kOrtOptimizeNothing)));
  if (!how.runs_often) {
    QUOTIENT_RETURN_IF_ERROR(
        ToStatus(api_, api_.AddSessionConfigEntry(options.get(), kDisablePrepacking, "1")));
    QUOTIENT_RETURN_IF_ERROR(ToStatus(api_, api_.DisableCpuMemArena(options.get())));
  }
  if (!how.dump.empty()) {
    QUOTIENT_RETURN_IF_ERROR(
        ToStatus(api_, api_.SetOptimizedModelFilePath(options.get(), how.dump.c_str())));
    QUOTIENT_RETURN_IF_ERROR(ToStatus(
        api_, api_.AddSessionConfigEntry(options.get(), kDumpWeights, how.dump_weights.c_str())));
    QUOTIENT_RETURN_IF_ERROR(
        ToStatus(api_, api_.AddSessionConfigEntry(options.get(), kLeastDumpWeight, "1024")));
  }
  if (!how.profile_prefix.empty()) {
    QUOTIENT_RETURN_IF_ERROR(
        ToStatus(api_, api_.EnableProfiling(options.get(), how.profile_prefix.c_str())));
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      Handle<OrtSession> session, Make(api_, api_.ReleaseSession, [&](OrtSession** session) {
        return api_.CreateSession(env_.get(), path.c_str(), options.get(), session);
      }));
  Handle<OrtRunOptions> first_run(nullptr, api_.ReleaseRunOptions);
  if (how.first_run_plans) {
    QUOTIENT_ASSIGN_OR_RETURN(first_run, Make(api_, api_.ReleaseRunOptions, api_.CreateRunOptions));
    QUOTIENT_RETURN_IF_ERROR(
        ToStatus(api_, api_.AddRunConfigEntry(first_run.get(), kShrinkArenas, "cpu:0")));
  }
  return std::make_unique<Session>(api_, std::move(session), std::move(first_run));
}

}  // namespace quotient::kernels::onnxruntime
