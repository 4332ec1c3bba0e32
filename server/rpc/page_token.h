#pragma once

// Page tokens of ListJobs. A token holds the position in the list where the next page begins, and
// is valid only for the same filter.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/jobs/job_store.h"

namespace quotient::rpc {

std::string MakePageToken(int64_t before_number, const jobs::JobFilter& filter);

// Returns BAD_PAGE_TOKEN for text that MakePageToken did not make for this filter.
absl::StatusOr<int64_t> ReadPageToken(absl::string_view token, const jobs::JobFilter& filter);

}  // namespace quotient::rpc
