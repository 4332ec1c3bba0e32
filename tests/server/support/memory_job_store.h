#pragma once

// A job store in memory, for tests. It is also the simple reference implementation with which the
// others are compared.

#include <memory>

#include "core/base/clock.h"
#include "server/jobs/job_store.h"

namespace quotient::store {

// Borrows the clock.
std::unique_ptr<jobs::JobStore> NewMemoryJobStore(const Clock* clock);

}  // namespace quotient::store
