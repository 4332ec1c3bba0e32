#pragma once

// Jobs in memory: the obvious implementation that others are compared with, and a store for tests.

#include <memory>

#include "core/base/clock.h"
#include "server/jobs/job_store.h"

namespace quotient::store {

// Borrows the clock.
std::unique_ptr<jobs::JobStore> NewMemoryJobStore(const Clock* clock);

}  // namespace quotient::store
