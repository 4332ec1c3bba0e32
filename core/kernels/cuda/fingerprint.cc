#include "core/kernels/cuda/fingerprint.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

const char* PolicyName(MathPolicy policy) {
  return policy == MathPolicy::kStrict32 ? "strict32" : "tf32";
}

DeviceFingerprint GpuFingerprint(const GpuFacts& facts, MathPolicy policy) {
  const auto known = [](const std::string& fact) {
    return fact.empty() ? std::string("unknown") : fact;
  };
  DeviceFingerprint fingerprint;
  fingerprint.text = absl::StrCat(
      "cuda; ", facts.name, "; sm_", facts.compute_capability, "; processors ", facts.processors,
      "; memory ", facts.memory_bytes >> 30, " GiB, ", facts.bus_bits, " bits, ecc ",
      facts.ecc ? "on" : "off", "; L2 ", facts.l2_bytes >> 20, " MiB; clocks at most ",
      facts.max_clock_khz / 1000, " and ", facts.max_memory_clock_khz / 1000, " MHz; power limit ",
      known(facts.power_limit_watts), " W; mig ", known(facts.mig_mode));
  absl::StrAppend(&fingerprint.text, "; driver ", known(facts.driver), " for ",
                  facts.driver_version, "; runtime ", facts.runtime_version, "; cudnn ",
                  facts.cudnn_version, "; cublaslt ", facts.cublaslt_version, "; nvrtc ",
                  facts.nvrtc_version, "; tf32 override ",
                  facts.tf32_override.empty() ? "unset" : facts.tf32_override, "; math ",
                  PolicyName(policy), "; kernels ", kKernelsVersion);
  return fingerprint;
}

}  // namespace quotient::kernels::cuda
