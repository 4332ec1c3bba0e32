#pragma once

// The table of devices: one row per kind of device, with everything that depends on the kind. All
// that lists, checks, opens or prices devices reads it: options, devices, help and completion.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cost/roofline.h"
#include "core/kernels/backend.h"
#include "core/os/environment.h"
#include "core/timing/service.h"
#include "core/verify/reference.h"

namespace quotient::optimize {

// What a backend may use besides the device.
struct BackendSetup {
  int threads = 1;
  // A folder for what is compiled for GPUs (kernels::cuda::OpenCodeCache); "" if the next process
  // should compile it again.
  std::string cache_directory;
  // The process's environment variables, some of which are meant for libraries.
  os::Environment environment;
  bool takes_precedence = false;  // DeviceSetup::takes_precedence
};

// What runs the graphs of a job.
enum class RunBy {
  kNothing,      // Nothing is run.
  kExecutables,  // Executables of this process (kernels::Backend).
  kFiles,        // A runtime that loads files and keeps the weights of each for itself.
};

struct DeviceKind {
  // The names that help and completion offer.
  std::vector<std::string> names;
  // Further names that are accepted, as text for messages; "" if there are none.
  std::string other_names;
  // If this name stands for other devices: their names, the first choice first. It is the first
  // one that this machine has. All other columns about opening and measuring are then empty.
  std::vector<std::string> stands_for = {};
  // What these devices are, as a phrase for the help.
  std::string help;
  // Whether a name belongs to this kind.
  std::function<bool(absl::string_view name)> accepts;

  // --- Empty for kinds that are only analytic models (cost::NewAnalyticCostModel), or only names.

  // Opens the device. DEVICE_NOT_PRESENT if this machine has none of that name.
  std::function<absl::StatusOr<std::unique_ptr<kernels::Backend>>(absl::string_view name,
                                                                  const BackendSetup& setup)>
      open;
  // What is assumed of the device's kernels until they have been measured. The device need not be
  // here: `fingerprint` says what it is (kernels::DeviceFingerprint::text).
  std::function<cost::Roof(absl::string_view name, absl::string_view fingerprint, int threads)>
      roof;
  // How its kernels are measured.
  std::function<timing::ServiceOptions(int threads)> timing;
  // How its results may differ from those of the host.
  std::function<verify::DeviceArithmetic(absl::string_view name)> arithmetic;

  // Whether they run whole files and optimize them by themselves (Backend::runs_files), so that
  // what they made of a model can be explained.
  bool runs_files = false;

  bool is_measured() const { return open != nullptr; }
  RunBy run_by() const {
    if (!is_measured()) return RunBy::kNothing;
    return runs_files ? RunBy::kFiles : RunBy::kExecutables;
  }
  bool is_name_of_others() const { return !stands_for.empty(); }
};

// The rows, in the order in which they are listed.
std::span<const DeviceKind> AllDeviceKinds();
// The row of a device; null for a name that no row accepts.
const DeviceKind* FindDeviceKind(std::span<const DeviceKind> kinds, absl::string_view name);

// Which rows a list contains. Names that stand for devices count as what they stand for, where all
// of these are in the list.
enum class DeviceFilter { kAll, kMeasured, kRunsFiles };
// The names that help and completion offer.
std::vector<std::string> DeviceNames(DeviceFilter filter);
// All accepted names, for a message: "auto, cpu, cuda, cuda-strict32, cuda:1 and so on,
// model:h200".
std::string AcceptedDevices(DeviceFilter filter);
// What the names mean, for the help: a line for each row.
std::string DevicesHelp(DeviceFilter filter);

}  // namespace quotient::optimize
