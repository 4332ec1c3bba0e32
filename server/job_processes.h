#pragma once

// The processes of jobs, as the flags of quotientd want them.

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/optimize/devices.h"
#include "core/os/environment.h"
#include "server/config/flags.h"
#include "server/ops/metrics.h"
#include "server/runner/job_groups.h"
#include "server/stores.h"
#include "server/worker/job_runner.h"

namespace quotient {

// The environment in which devices are opened, here and in the processes.
os::Environment EnvironmentOfDevices(const config::ServerFlags& flags);

// The control groups of the processes. To be called before any process is started. Null, with a
// line in the log, if the system lets the server make none, and if the flags want no sandbox.
std::unique_ptr<runner::JobGroups> NewJobGroups(const config::ServerFlags& flags);

// Is told, from any thread, that quotient-job was replaced or does not work: PROGRAM_REPLACED.
using OnReplaced = std::function<void(const absl::Status&)>;

// Borrows all but the flags. `groups` may be null. FAILED_PRECONDITION if quotient-job is not
// beside this program, and PROGRAM_REPLACED if it does not work or is of another build.
absl::StatusOr<std::unique_ptr<worker::JobRunner>> NewJobProcesses(
    const config::ServerFlags& flags, const Stores& stores, runner::JobGroups* groups,
    optimize::Devices* devices, ops::Metrics* metrics, OnReplaced on_replaced);

}  // namespace quotient
