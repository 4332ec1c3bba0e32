#pragma once

// A row for the table of devices (core/optimize/device_table.h) whose backend a test makes.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/data_sheets.h"
#include "core/optimize/device_table.h"

namespace quotient::testing {

using OpenByName =
    std::function<absl::StatusOr<std::unique_ptr<kernels::Backend>>(absl::string_view name)>;

// Devices of these names. Unmeasured kernels are priced as on one core of a CPU.
inline optimize::DeviceKind FakeDeviceKind(std::vector<std::string> names, OpenByName open) {
  return {
      .names = names,
      .help = "simulated",
      .accepts =
          [names](absl::string_view name) { return std::ranges::find(names, name) != names.end(); },
      .open = [open = std::move(open)](absl::string_view name,
                                       const optimize::BackendSetup&) { return open(name); },
      .roof =
          [](absl::string_view, absl::string_view, int) {
            return cost::Roof{cost::CpuSheet(), 1};
          },
      .timing = [](int threads) { return timing::ServiceOptions{.threads = threads}; },
      .arithmetic = [](absl::string_view) { return verify::DeviceArithmetic::kHost; }};
}

}  // namespace quotient::testing
