#pragma once

#include <string>

namespace quotient::optimize {

// What the device of a job really is.
struct DeviceIdentity {
  // A name that stands for one device: "onnxruntime", never "auto".
  std::string name;
  // Everything besides Quotient itself that answers depend on: hardware, instruction set, versions
  // of libraries and drivers, threads (kernels::DeviceFingerprint::text). Empty for devices whose
  // names say it all: analytic models, and snapshots, which are named by their content.
  std::string fingerprint;

  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

}  // namespace quotient::optimize
