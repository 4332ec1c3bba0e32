#include "core/kernels/onednn/fingerprint.h"

#include <dnnl.h>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu_description.h"

namespace quotient::kernels::onednn {
namespace {

// Raised whenever a kernel of this device becomes faster or slower, so that its stored timings are
// not found any more.
constexpr int kKernelsVersion = 3;

// A variable of the OpenMP runtime.
std::string OpenMpVariable(const os::Environment& environment, const char* name) {
  return environment.contains(name) ? environment.at(name) : "default";
}

std::string IsaName() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  return absl::StrCat("0x", absl::Hex(static_cast<unsigned>(isa)));
}

}  // namespace

absl::StatusOr<DeviceFingerprint> CpuFingerprint(int threads, const os::Environment& environment) {
  QUOTIENT_ASSIGN_OR_RETURN(const CpuDescription cpu, DescribeCpu());
  const dnnl_version_t* version = dnnl_version();
  if (version == nullptr || version->hash == nullptr) {
    return absl::FailedPreconditionError("device fingerprint: no oneDNN version");
  }
  DeviceFingerprint fingerprint;
  fingerprint.text =
      absl::StrCat("cpu; ", ProcessorText(cpu), "; cores ", cpu.cores, "; threads ", threads,
                   "; omp wait ", OpenMpVariable(environment, "OMP_WAIT_POLICY"), " spin ",
                   OpenMpVariable(environment, "GOMP_SPINCOUNT"), "; caches ", cpu.l1d, " ", cpu.l2,
                   " ", cpu.l3, "; oneDNN ", version->major, ".", version->minor, ".",
                   version->patch, " ", version->hash, " isa ", IsaName(), "; loops ",
                   cpu::BestLoops().isa, "; kernels ", kKernelsVersion, "; compiler ", __VERSION__);
  return fingerprint;
}

}  // namespace quotient::kernels::onednn
