#include "core/kernels/device_name.h"

#include <utility>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace quotient::kernels {

// For GPUs the name is the second field: "cuda; NVIDIA H200; sm_90; ...". For CPUs it is in that
// field's parentheses: "cpu; AuthenticAMD family 25 model 1 stepping 0 (AMD EPYC 7B13); flags ...".
std::string DeviceName(absl::string_view fingerprint) {
  const std::pair<absl::string_view, absl::string_view> kind_and_rest =
      absl::StrSplit(fingerprint, absl::MaxSplits("; ", 1));
  const std::pair<absl::string_view, absl::string_view> field_and_rest =
      absl::StrSplit(kind_and_rest.second, absl::MaxSplits("; ", 1));
  absl::string_view name = field_and_rest.first;
  const size_t parenthesis = name.find(" (");
  if (kind_and_rest.first == "cpu" && parenthesis != absl::string_view::npos &&
      absl::ConsumeSuffix(&name, ")")) {
    name.remove_prefix(parenthesis + 2);
  }
  return std::string(name.empty() ? fingerprint : name);
}

}  // namespace quotient::kernels
