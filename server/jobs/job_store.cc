#include "server/jobs/job_store.h"

#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {

absl::StatusOr<std::optional<Job>> FindReadable(JobTransaction& store, const std::string& id) {
  absl::StatusOr<std::optional<Job>> found = store.Find(id);
  if (GetReason(found.status()) != Reason::kInternal) return found;
  Log().error("job {} is left out from now on: {}", id, std::string(found.status().message()));
  QUOTIENT_RETURN_IF_ERROR(store.SetAside(id));
  return std::nullopt;
}

}  // namespace quotient::jobs
