#include "core/kernels/cuda/plugin/nvrtc.h"

#include <nvrtc.h>

#include <array>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda {

namespace {

absl::Status NvrtcStatus(nvrtcResult result, absl::string_view call) {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(call, ": ", nvrtcGetErrorString(result)));
}

std::string Log(nvrtcProgram program) {
  size_t size = 0;
  if (nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS || size < 2) return "no log";
  std::string log(size, '\0');
  if (nvrtcGetProgramLog(program, log.data()) != NVRTC_SUCCESS) return "no log";
  log.pop_back();  // its terminator
  return log;
}

absl::StatusOr<std::string> Cubin(nvrtcProgram program) {
  size_t size = 0;
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize"));
  std::string cubin(size, '\0');
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(nvrtcGetCUBIN(program, cubin.data()), "nvrtcGetCUBIN"));
  return cubin;
}

}  // namespace

int NvrtcVersion() {
  int major = 0;
  int minor = 0;
  if (nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return 0;
  return major * 1000 + minor * 10;
}

absl::StatusOr<std::string> CompileToCubin(const SourceKernel& kernel, int compute_capability) {
  nvrtcProgram program = nullptr;
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(
      nvrtcCreateProgram(&program, kernel.source.c_str(), absl::StrCat(kernel.name, ".cu").c_str(),
                         /*numHeaders=*/0, nullptr, nullptr),
      "nvrtcCreateProgram"));
  const absl::Cleanup destroy = [&program] { nvrtcDestroyProgram(&program); };

  // A name that says sm, not compute: machine code, not PTX that the driver would compile again.
  const std::string architecture = absl::StrCat("--gpu-architecture=sm_", compute_capability);
  const std::array<const char*, 1> options = {architecture.c_str()};
  const nvrtcResult result = nvrtcCompileProgram(program, options.size(), options.data());
  if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_INVALID_OPTION) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel ", kernel.name, " for sm_", compute_capability, ": ", Log(program)));
  }
  QUOTIENT_RETURN_IF_ERROR(NvrtcStatus(result, "nvrtcCompileProgram"));
  return Cubin(program);
}

}  // namespace quotient::kernels::cuda
