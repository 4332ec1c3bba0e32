#include "server/jobs/job_store.h"

namespace quotient::jobs {

bool JobFilter::Accepts(const Job& job) const {
  return (!state.has_value() || job.state == *state) && (client.empty() || job.client == client) &&
         (graph_sha256.empty() || job.spec.model.graph.digest.Hex() == graph_sha256) &&
         (created_after_ms == 0 || job.create_ms > created_after_ms) &&
         (created_before_ms == 0 || job.create_ms < created_before_ms);
}

}  // namespace quotient::jobs
