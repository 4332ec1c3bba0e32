#pragma once

// A GPU that had nothing to do needs some milliseconds of work to raise its clock.

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace quotient::kernels::cuda::smoke {

// Calls `run`, which runs `timed` (a kernel or a graph), until its reading is clean, but not for
// long.
template <typename Timed, typename Run>
absl::Status RunAwake(const Timed& timed, Run&& run) {
  const absl::Time end = absl::Now() + absl::Milliseconds(200);
  do {
    QUOTIENT_RETURN_IF_ERROR(run());
  } while (timed.reading().has_value() && !timed.reading()->clean && absl::Now() < end);
  return absl::OkStatus();
}

}  // namespace quotient::kernels::cuda::smoke
