#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace quotient::kernels {

// The name by which people know a device, from its fingerprint (DeviceFingerprint::text): "AMD EPYC
// 7B13", "NVIDIA H200". The whole text if it contains no such name.
std::string DeviceName(absl::string_view fingerprint);

}  // namespace quotient::kernels
