#pragma once

// Which files the process of a job needs, and no others.

#include "core/os/environment.h"
#include "server/runner/file_rights.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {

// Whether the request is about a device that is a GPU.
bool UsesGpu(const v1::Request& request);

// What serving the request takes: programs and libraries, what the system says of itself, the
// blobs that are read, and for a job its folders and what it shares with other jobs.
FileRights RightsFor(const v1::Request& request, const os::Environment& environment);

}  // namespace quotient::runner
