#pragma once

// What pages show of a job. A job may have megabytes; this has only what fits a row.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/blob_id.h"
#include "core/base/progress.h"
#include "server/jobs/job.h"

namespace quotient::pages {

// What a job gained, in the words of its report.
struct Gain {
  std::string text;               // "25.0 % faster"; empty if it is not known.
  std::optional<double> percent;  // Set if a gain was measured or predicted.
};

struct JobFacts {
  int64_t number = 0;  // Of the store, by which lists go on; 0 if it is not known.
  std::string id;
  std::string model_name;
  std::string graph;     // SHA-256 of the ONNX file.
  std::string device;    // As the options name it.
  std::string hardware;  // What that is here, with libraries and threads; may be empty.
  std::string client;
  int priority = 0;
  jobs::JobState state = jobs::JobState::kQueued;
  int attempt = 0;
  bool stop_requested = false;
  int64_t create_ms = 0;
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  std::optional<report::Outcome> outcome;
  bool is_lost = false;
  std::optional<BlobId> report_json;
  std::optional<BlobId> report_html;
  absl::Status error;

  // --- Not of the store.
  std::optional<Progress> progress;  // Of a running job that has reported some.
  Gain gain;                         // Of a job that has succeeded.
};

JobFacts FactsOf(const jobs::Job& job, int64_t number = 0);

}  // namespace quotient::pages
