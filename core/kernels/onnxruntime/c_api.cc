#include "core/kernels/onnxruntime/c_api.h"

namespace quotient::kernels::onnxruntime {
namespace {

// Reads the function of a slot. `function` says which type it has.
template <typename Function>
void Read(const void* const* table, int slot, Function*& function) {
  function = reinterpret_cast<Function*>(reinterpret_cast<uintptr_t>(table[slot]));
}

}  // namespace

// The slots are in the order of onnxruntime_c_api.h, CreateStatus being number 0.
OrtApi::OrtApi(const void* const* table) {
  Read(table, 2, GetErrorMessage);
  Read(table, 7, CreateSession);
  Read(table, 9, Run);
  Read(table, 10, CreateSessionOptions);
  Read(table, 11, SetOptimizedModelFilePath);
  Read(table, 14, EnableProfiling);
  Read(table, 19, DisableCpuMemArena);
  Read(table, 23, SetSessionGraphOptimizationLevel);
  Read(table, 39, CreateRunOptions);
  Read(table, 49, CreateTensorWithDataAsOrtValue);
  Read(table, 50, IsTensor);
  Read(table, 51, GetTensorMutableData);
  Read(table, 60, GetTensorElementType);
  Read(table, 61, GetDimensionsCount);
  Read(table, 62, GetDimensions);
  Read(table, 65, GetTensorTypeAndShape);
  Read(table, 69, CreateCpuMemoryInfo);
  Read(table, 92, ReleaseEnv);
  Read(table, 93, ReleaseStatus);
  Read(table, 94, ReleaseMemoryInfo);
  Read(table, 95, ReleaseSession);
  Read(table, 96, ReleaseValue);
  Read(table, 97, ReleaseRunOptions);
  Read(table, 99, ReleaseTensorTypeAndShapeInfo);
  Read(table, 100, ReleaseSessionOptions);
  Read(table, 119, CreateEnvWithGlobalThreadPools);
  Read(table, 120, DisablePerSessionThreads);
  Read(table, 121, CreateThreadingOptions);
  Read(table, 122, ReleaseThreadingOptions);
  Read(table, 125, GetAvailableProviders);
  Read(table, 126, ReleaseAvailableProviders);
  Read(table, 130, AddSessionConfigEntry);
  Read(table, 147, SetGlobalIntraOpNumThreads);
  Read(table, 148, SetGlobalInterOpNumThreads);
  Read(table, 165, AddRunConfigEntry);
}

}  // namespace quotient::kernels::onnxruntime
