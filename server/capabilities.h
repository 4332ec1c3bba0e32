#pragma once

// What the server tells clients about itself: versions and limits.

#include "quotient/v1/capabilities.pb.h"
#include "server/config/flags.h"
#include "server/jobs/admission.h"
#include "server/rpc/blob_service.h"

namespace quotient {

v1::Capabilities MakeCapabilities(const config::ServerFlags& flags,
                                  const rpc::BlobLimits& blob_limits,
                                  const jobs::AdmissionLimits& job_limits);

}  // namespace quotient
