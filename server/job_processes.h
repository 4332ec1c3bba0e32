#pragma once

// The processes of jobs, as the flags of quotientd want them.

#include <memory>

#include "absl/status/statusor.h"
#include "core/optimize/devices.h"
#include "core/os/environment.h"
#include "server/config/flags.h"
#include "server/ops/metrics.h"
#include "server/stores.h"
#include "server/worker/job_runner.h"

namespace quotient {

// The environment in which devices are opened, here and in the processes.
os::Environment EnvironmentOfDevices(const config::ServerFlags& flags);

// Borrows all but the flags. FAILED_PRECONDITION if quotient-job is not beside this program.
absl::StatusOr<std::unique_ptr<worker::JobRunner>> NewJobProcesses(const config::ServerFlags& flags,
                                                                   const Stores& stores,
                                                                   optimize::Devices* devices,
                                                                   ops::Metrics* metrics);

}  // namespace quotient
