#include "core/kernels/cuda/fingerprint.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quotient::kernels::cuda {
namespace {

// Snapshots, whose fingerprints are read, come from anywhere. No fact of a GPU is larger than this.
constexpr int kMostNumber = 1'000'000;

// The number, from 1 to kMostNumber, between `prefix` and `suffix`, which are removed with it.
// Nothing if `text` does not begin in this way.
std::optional<int> ConsumeNumber(absl::string_view prefix, absl::string_view suffix,
                                 absl::string_view* text) {
  if (!absl::ConsumePrefix(text, prefix)) return std::nullopt;
  const size_t end = suffix.empty() ? text->size() : text->find(suffix);
  int number = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(text->substr(0, end), &number)) {
    return std::nullopt;
  }
  if (number < 1 || number > kMostNumber) return std::nullopt;
  text->remove_prefix(end + suffix.size());
  return number;
}

}  // namespace

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

std::string WithoutDriverPatch(absl::string_view fingerprint) {
  constexpr absl::string_view kBegin = "; driver ";
  constexpr absl::string_view kEnd = " for ";
  const size_t begin = fingerprint.find(kBegin);
  if (begin == absl::string_view::npos) return std::string(fingerprint);
  const size_t version = begin + kBegin.size();
  const size_t end = fingerprint.find(kEnd, version);
  if (end == absl::string_view::npos) return std::string(fingerprint);
  std::vector<absl::string_view> parts =
      absl::StrSplit(fingerprint.substr(version, end - version), '.');
  if (parts.size() < 3) return std::string(fingerprint);
  const size_t patch = end - parts.back().size() - 1;
  return absl::StrCat(fingerprint.substr(0, patch), fingerprint.substr(end));
}

std::optional<GpuFacts> HardwareOf(absl::string_view fingerprint) {
  const std::pair<absl::string_view, absl::string_view> kind =
      absl::StrSplit(fingerprint, absl::MaxSplits("; ", 1));
  const std::pair<absl::string_view, absl::string_view> name =
      absl::StrSplit(kind.second, absl::MaxSplits("; ", 1));
  if (kind.first != "cuda") return std::nullopt;
  absl::string_view rest = name.second;
  const std::optional<int> capability = ConsumeNumber("sm_", "; ", &rest);
  const std::optional<int> processors = ConsumeNumber("processors ", "; ", &rest);
  const std::optional<int> memory_gib = ConsumeNumber("memory ", " GiB, ", &rest);
  const std::optional<int> bus_bits = ConsumeNumber("", " bits, ecc ", &rest);
  rest.remove_prefix(std::min(rest.find("; L2 "), rest.size()));
  const std::optional<int> l2_mib = ConsumeNumber("; L2 ", " MiB; clocks at most ", &rest);
  const std::optional<int> clock_mhz = ConsumeNumber("", " and ", &rest);
  const std::optional<int> memory_mhz = ConsumeNumber("", " MHz", &rest);
  if (!capability || !processors || !memory_gib || !bus_bits || !l2_mib || !clock_mhz ||
      !memory_mhz) {
    return std::nullopt;
  }
  GpuFacts facts;
  facts.name = std::string(name.first);
  facts.compute_capability = *capability;
  facts.processors = *processors;
  facts.memory_bytes = int64_t{*memory_gib} << 30;
  facts.bus_bits = *bus_bits;
  facts.l2_bytes = int64_t{*l2_mib} << 20;
  facts.max_clock_khz = *clock_mhz * 1000;
  facts.max_memory_clock_khz = *memory_mhz * 1000;
  return facts;
}

}  // namespace quotient::kernels::cuda
