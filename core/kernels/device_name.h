#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace quotient::kernels {

// What people want to know of a device, read from its fingerprint (DeviceFingerprint::text).
struct DeviceDescription {
  std::string hardware;  // "AMD EPYC 7B13", "NVIDIA H200".
  std::string library;   // What runs the kernels, with its version: "ONNX Runtime 1.31.1".
  int threads = 0;       // Number of threads per kernel; 0 for devices that have no such number.
};

// Parts that the text does not have are empty. Of a text that is no fingerprint, the whole is the
// hardware.
DeviceDescription DescribeDevice(absl::string_view fingerprint);

// Both in one: "ONNX Runtime 1.31.1 on AMD EPYC 7B13", or the hardware alone.
std::string DeviceName(absl::string_view fingerprint);
// The same with the number of threads, where there is one: "..., 2 threads".
std::string DeviceNameAndThreads(absl::string_view fingerprint);

// What an option or a report calls the device, for people: of a snapshot, which has a digest of 64
// digits and a size in its name, the first 12 digits ("snapshot:2cf24dba5fb0"). Other names stay.
std::string ShortDevice(absl::string_view name);

}  // namespace quotient::kernels
