#include "server/pages/job_facts.h"

#include "core/kernels/device_name.h"

namespace quotient::pages {

JobFacts FactsOf(const jobs::Job& job, int64_t number) {
  JobFacts facts{.number = number,
                 .id = job.id,
                 .model_name = job.spec.model_name,
                 .graph = job.spec.model.graph.digest.Hex(),
                 .device = kernels::ShortDevice(job.spec.options.device),
                 .hardware = kernels::DeviceNameAndThreads(job.device_fingerprint),
                 .client = job.client,
                 .priority = job.policy.priority,
                 .state = job.state,
                 .attempt = job.attempt,
                 .stop_requested = job.stop_requested,
                 .create_ms = job.create_ms,
                 .start_ms = job.start_ms,
                 .end_ms = job.end_ms,
                 .error = job.error};
  if (job.result.has_value()) {
    facts.outcome = job.result->outcome;
    facts.is_lost = job.result->is_lost;
    facts.report_json = job.result->report_json;
    facts.report_html = job.result->report_html;
  }
  return facts;
}

}  // namespace quotient::pages
