#include "core/kernels/cuda/plugin/nvrtc.h"

#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

namespace {

absl::Status NvrtcStatus(nvrtcResult result, absl::string_view call) {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat(call, ": ", nvrtcGetErrorString(result));
  return result == NVRTC_ERROR_OUT_OF_MEMORY ? absl::ResourceExhaustedError(message)
                                             : absl::InternalError(message);
}

std::string Log(nvrtcProgram program) {
  size_t size = 0;
  if (nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2) return "no log";
  std::string log(size, '\0');
  if (nvrtcGetProgramLog(program, log.data()) != NVRTC_SUCCESS) return "no log";
  log.pop_back();  // The terminating zero.
  return log;
}

absl::StatusOr<std::string> Cubin(nvrtcProgram program) {
  size_t size = 0;
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize"));
  std::string cubin(size, '\0');
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(nvrtcGetCUBIN(program, cubin.data()), "nvrtcGetCUBIN"));
  return cubin;
}

// Maximum number of registers per thread. A block has 65536 registers, allocated in units of eight,
// and a launch that needs more fails.
int Registers(const SourceKernel& kernel) {
  return std::min(255, 65536 / std::max(kernel.block, 1) / 8 * 8);
}

// "sm" instead of "compute" requests machine code instead of PTX, which the driver would compile
// again.
std::array<std::string, 2> Options(const SourceKernel& kernel, int compute_capability) {
  return {absl::StrCat("--gpu-architecture=sm_", compute_capability),
          absl::StrCat("--maxrregcount=", Registers(kernel))};
}

absl::StatusOr<std::string> Compile(const SourceKernel& kernel, int compute_capability) {
  nvrtcProgram program = nullptr;
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(
      nvrtcCreateProgram(&program, kernel.source.c_str(), absl::StrCat(kernel.name, ".cu").c_str(),
                         /*numHeaders=*/0, nullptr, nullptr),
      "nvrtcCreateProgram"));
  const absl::Cleanup destroy = [&program] { nvrtcDestroyProgram(&program); };

  const std::array<std::string, 2> options = Options(kernel, compute_capability);
  const std::array<const char*, 2> words = {options[0].c_str(), options[1].c_str()};
  const nvrtcResult result = nvrtcCompileProgram(program, words.size(), words.data());
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.name, " for sm_", compute_capability, ": ", Log(program)));
  }
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(result, "nvrtcCompileProgram"));
  return Cubin(program);
}

}  // namespace

int NvrtcVersion() {
  int major = 0;
  int minor = 0;
  if (nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return 0;
  return major * 1000 + minor * 10;
}

absl::StatusOr<std::string> CompileToCubin(const SourceKernel& kernel, int compute_capability,
                                           CodeCache* cache) {
  if (cache == nullptr) return Compile(kernel, compute_capability);
  const std::string key = absl::StrCat("NVRTC ", NvrtcVersion(), " ",
                                       absl::StrJoin(Options(kernel, compute_capability), " "),
                                       "\n", kernel.name, "\n", kernel.source);
  if (std::optional<std::string> found = cache->Find(key)) return *std::move(found);
  QUOTIENT_ASSIGN_OR_RETURN(std::string cubin, Compile(kernel, compute_capability));
  cache->Add(key, cubin);
  return cubin;
}

}  // namespace quotient::kernels::cuda
