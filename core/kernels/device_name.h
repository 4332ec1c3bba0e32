#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace quotient::kernels {

// What people know a device by, from its fingerprint (DeviceFingerprint::text): "AMD EPYC 7B13",
// "NVIDIA H200". The whole text where it holds no such name.
std::string DeviceName(absl::string_view fingerprint);

}  // namespace quotient::kernels
