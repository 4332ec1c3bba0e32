#pragma once

// The part of ONNX Runtime's C API that is called here. The library publishes a table of functions
// whose order never changes; newer versions append to it (onnxruntime_c_api.h, struct OrtApi). So
// the slots that are used are declared here, and no header of the library is needed to build.

#include <cstddef>
#include <cstdint>

namespace quotient::kernels::onnxruntime {

// --- Objects of the library, which only it knows.

struct OrtStatus;
struct OrtEnv;
struct OrtThreadingOptions;
struct OrtSessionOptions;
struct OrtSession;
struct OrtRunOptions;
struct OrtMemoryInfo;
struct OrtValue;
struct OrtShapeInfo;  // OrtTensorTypeAndShapeInfo

// --- What its arguments mean.

inline constexpr int kOrtFatal = 4;            // OrtLoggingLevel: print next to nothing.
inline constexpr int kOrtOptimizeNothing = 0;  // GraphOptimizationLevel
inline constexpr int kOrtOptimizeAll = 99;     // GraphOptimizationLevel
inline constexpr int kOrtDeviceAllocator = 0;  // OrtAllocatorType
inline constexpr int kOrtDefaultMemory = 0;    // OrtMemType

// The version of the table that has all slots used here, and the first release that offers it. Both
// numbers grow together: release 1.N offers version N.
inline constexpr uint32_t kOrtApiVersion = 18;

// What OrtGetApiBase() returns. GetApi is null for versions that the library does not have.
struct OrtApiBase {
  const void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};
inline constexpr char kOrtGetApiBase[] = "OrtGetApiBase";

// The functions, by their names there. Those that return a status return null for success.
struct OrtApi {
  explicit OrtApi(const void* const* table);

  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateSession)(const OrtEnv*, const char* path, const OrtSessionOptions*,
                              OrtSession**);
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, size_t num_inputs,
                    const char* const* output_names, size_t num_outputs, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions**);
  OrtStatus* (*SetOptimizedModelFilePath)(OrtSessionOptions*, const char* path);
  OrtStatus* (*EnableProfiling)(OrtSessionOptions*, const char* path_prefix);
  OrtStatus* (*DisableCpuMemArena)(OrtSessionOptions*);
  OrtStatus* (*SetSessionGraphOptimizationLevel)(OrtSessionOptions*, int level);
  OrtStatus* (*CreateRunOptions)(OrtRunOptions**);
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, size_t size,
                                               const int64_t* dims, size_t rank, int element_type,
                                               OrtValue**);
  OrtStatus* (*IsTensor)(const OrtValue*, int* is_tensor);
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void** data);
  OrtStatus* (*GetTensorElementType)(const OrtShapeInfo*, int* element_type);
  OrtStatus* (*GetDimensionsCount)(const OrtShapeInfo*, size_t* rank);
  OrtStatus* (*GetDimensions)(const OrtShapeInfo*, int64_t* dims, size_t rank);
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtShapeInfo**);
  OrtStatus* (*CreateCpuMemoryInfo)(int allocator_type, int memory_type, OrtMemoryInfo**);
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  void (*ReleaseRunOptions)(OrtRunOptions*);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
  OrtStatus* (*CreateEnvWithGlobalThreadPools)(int log_level, const char* log_id,
                                               const OrtThreadingOptions*, OrtEnv**);
  OrtStatus* (*DisablePerSessionThreads)(OrtSessionOptions*);
  OrtStatus* (*CreateThreadingOptions)(OrtThreadingOptions**);
  void (*ReleaseThreadingOptions)(OrtThreadingOptions*);
  OrtStatus* (*GetAvailableProviders)(char*** names, int* count);
  OrtStatus* (*ReleaseAvailableProviders)(char** names, int count);
  OrtStatus* (*AddSessionConfigEntry)(OrtSessionOptions*, const char* key, const char* value);
  OrtStatus* (*SetGlobalIntraOpNumThreads)(OrtThreadingOptions*, int threads);
  OrtStatus* (*SetGlobalInterOpNumThreads)(OrtThreadingOptions*, int threads);
  OrtStatus* (*AddRunConfigEntry)(OrtRunOptions*, const char* key, const char* value);
};

}  // namespace quotient::kernels::onnxruntime
