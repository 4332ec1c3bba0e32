#include "server/pages/gain_reader.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "core/report/decision_text.h"
#include "core/report/report.h"

namespace quotient::pages {

Gain GainOfReport(absl::string_view json) {
  const absl::StatusOr<report::Report> report = report::ReportFromJson(json);
  if (!report.ok()) return {};
  if (report->outcome == report::Outcome::kNoImprovement) return {.text = "no improvement"};
  if (const std::string measured = report::MeasuredGainText(*report); !measured.empty()) {
    return {.text = measured, .percent = report->speedup_percent};
  }
  if (!report->measured && report->predicted_speedup_percent.has_value()) {
    const double percent = *report->predicted_speedup_percent;
    return {.text = absl::StrFormat("%.1f %% faster, predicted", percent), .percent = percent};
  }
  return {.text = "improved"};
}

void GainReader::AddTo(std::vector<JobFacts>* jobs) {
  absl::MutexLock lock(&mutex_);
  int64_t left = kMostBytesPerList;
  for (JobFacts& job : *jobs) {
    if (!job.report_json.has_value() || job.is_lost) continue;
    const auto known = gains_.find(job.id);
    if (known != gains_.end()) {
      job.gain = known->second;
      continue;
    }
    const int64_t bytes = job.report_json->size_bytes;
    if (bytes > kMostReportBytes || bytes > left) continue;
    left -= bytes;
    const absl::StatusOr<std::shared_ptr<const jobs::Blob>> blob = blobs_.Open(*job.report_json);
    if (!blob.ok()) continue;
    job.gain = GainOfReport((*blob)->bytes());
    if (!(*blob)->damaged()) Keep(job.id, job.gain);
  }
}

void GainReader::Keep(const std::string& id, Gain gain) {
  if (oldest_first_.size() >= kMostKept) {
    gains_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  if (gains_.emplace(id, std::move(gain)).second) oldest_first_.push_back(id);
}

}  // namespace quotient::pages
