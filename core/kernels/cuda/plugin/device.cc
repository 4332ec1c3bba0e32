#include "core/kernels/cuda/plugin/device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/kernels/cuda/plugin/cuda_status.h"

namespace quotient::kernels::cuda {

namespace {

// Ampere, the first with TF32 and bfloat16.
constexpr int kOldestCapability = 80;

class DeviceBuffer : public Buffer {
 public:
  DeviceBuffer(int ordinal, void* memory) : ordinal_(ordinal), memory_(memory) {}
  ~DeviceBuffer() override {
    cudaSetDevice(ordinal_);
    cudaFree(memory_);
  }
  DeviceAddress address() const override { return reinterpret_cast<DeviceAddress>(memory_); }

 private:
  const int ordinal_;
  void* const memory_;
};

absl::Status NotPresent(absl::string_view message) {
  return MakeError(Reason::kDeviceNotPresent, message);
}

// 13000 becomes "13.0".
std::string VersionName(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

absl::Status CheckDriver() {
  int version = 0;
  if (const cudaError_t error = cudaDriverGetVersion(&version); error != cudaSuccess) {
    return NotPresent(
        absl::StrCat("the NVIDIA driver does not answer: ", cudaGetErrorString(error)));
  }
  constexpr int kNeeded = CUDART_VERSION / 1000 * 1000;
  if (version == 0) {
    return NotPresent(absl::StrCat("no NVIDIA driver is installed (libcuda.so.1); CUDA ",
                                   VersionName(kNeeded), " needs one"));
  }
  if (version < kNeeded) {
    return NotPresent(absl::StrCat("the NVIDIA driver is too old: it is for CUDA ",
                                   VersionName(version), ", and ", VersionName(kNeeded),
                                   " is needed"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Attribute(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaDeviceGetAttribute(&value, attribute, ordinal));
  return value;
}

absl::StatusOr<int> ComputeCapability(int ordinal) {
  QUOTIENT_ASSIGN_OR_RETURN(const int major, Attribute(cudaDevAttrComputeCapabilityMajor, ordinal));
  QUOTIENT_ASSIGN_OR_RETURN(const int minor, Attribute(cudaDevAttrComputeCapabilityMinor, ordinal));
  return major * 10 + minor;
}

absl::StatusOr<std::string> BusId(int ordinal) {
  std::array<char, 32> id = {};
  QUOTIENT_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetPCIBusId(id.data(), static_cast<int>(id.size()), ordinal));
  return std::string(id.data());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Stream>> Stream::Create() {
  cudaStream_t stream = nullptr;
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return std::unique_ptr<Stream>(new Stream(stream));
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

absl::Status CheckDevice(int ordinal) {
  QUOTIENT_RETURN_IF_ERROR(CheckDriver());
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess) {
    cudaGetLastError();
    return NotPresent(absl::StrCat("no GPU: ", cudaGetErrorString(error)));
  }
  if (ordinal < 0 || ordinal >= devices) {
    return NotPresent(absl::StrCat("no GPU number ", ordinal, ": the driver shows ", devices));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const int capability, ComputeCapability(ordinal));
  if (capability < kOldestCapability) {
    return NotPresent(absl::StrCat("GPU number ", ordinal, " has compute capability ",
                                   capability / 10, ".", capability % 10,
                                   "; 8.0 (Ampere) or newer is needed"));
  }
  return absl::OkStatus();
}

Device::Device(int ordinal, std::unique_ptr<Stream> copies, std::unique_ptr<Nvml> nvml)
    : ordinal_(ordinal), nvml_(std::move(nvml)), copies_(std::move(copies)) {}

absl::StatusOr<std::unique_ptr<Device>> Device::Open(int ordinal) {
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string bus_id, BusId(ordinal));
  QUOTIENT_ASSIGN_OR_RETURN(auto copies, Stream::Create());
  return std::unique_ptr<Device>(new Device(ordinal, std::move(copies), Nvml::Open(bus_id)));
}

absl::Status Device::Select() const {
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaSetDevice(ordinal_));
  return absl::OkStatus();
}

absl::Status Device::health() const {
  const absl::MutexLock lock(&health_mutex_);
  return health_;
}

void Device::Note(const absl::Status& status) const {
  if (GetReason(status) != Reason::kDeviceLost) return;
  const absl::MutexLock lock(&health_mutex_);
  health_.Update(status);
}

absl::StatusOr<GpuFacts> Device::Facts() const {
  cudaDeviceProp properties;
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, ordinal_));
  GpuFacts facts;
  facts.name = properties.name;
  facts.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
  QUOTIENT_ASSIGN_OR_RETURN(facts.compute_capability, ComputeCapability(ordinal_));
  const auto read = [this](cudaDeviceAttr attribute, auto& to) -> absl::Status {
    QUOTIENT_ASSIGN_OR_RETURN(to, Attribute(attribute, ordinal_));
    return absl::OkStatus();
  };
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrMultiProcessorCount, facts.processors));
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrL2CacheSize, facts.l2_bytes));
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrGlobalMemoryBusWidth, facts.bus_bits));
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrClockRate, facts.max_clock_khz));
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrMemoryClockRate, facts.max_memory_clock_khz));
  QUOTIENT_RETURN_IF_ERROR(read(cudaDevAttrEccEnabled, facts.ecc));
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaDriverGetVersion(&facts.driver_version));
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaRuntimeGetVersion(&facts.runtime_version));
  if (nvml_ != nullptr) {
    facts.power_limit_watts = nvml_->PowerLimitWatts();
    facts.mig_mode = nvml_->MigMode();
    facts.driver = nvml_->DriverVersion();
  }
  return facts;
}

absl::StatusOr<std::unique_ptr<Buffer>> Device::Allocate(int64_t bytes) const {
  if (bytes < 0) return absl::InvalidArgumentError(absl::StrCat("a buffer of ", bytes, " bytes"));
  void* memory = nullptr;
  // At least one byte, so that every buffer has an address of its own.
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  if (const cudaError_t error = cudaMalloc(&memory, size); error != cudaSuccess) {
    return CudaStatus(error, absl::StrCat("cudaMalloc of ", bytes, " bytes"));
  }
  return std::make_unique<DeviceBuffer>(ordinal_, memory);
}

absl::Status Device::Upload(DeviceAddress to, const void* from, int64_t bytes) {
  return Copy(reinterpret_cast<void*>(to), from, bytes, cudaMemcpyHostToDevice);
}

absl::Status Device::Download(void* to, DeviceAddress from, int64_t bytes) {
  return Copy(to, reinterpret_cast<const void*>(from), bytes, cudaMemcpyDeviceToHost);
}

// Uses its own stream, because cudaMemcpy may return before an upload from pageable memory is done.
absl::Status Device::Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  const cudaStream_t stream = copies_->get();
  QUOTIENT_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return absl::OkStatus();
}

}  // namespace quotient::kernels::cuda
