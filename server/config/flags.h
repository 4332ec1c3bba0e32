#pragma once

// The command line of quotientd. It is parsed once, by main; no other code reads flags.

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace quotient::config {

struct ServerFlags {
  std::string listen = "127.0.0.1:7070";
  bool allow_remote = false;
  std::string data_dir = "quotient-data";
  std::string port_file;
  std::string metrics_listen;
  std::string status_page = "local";
  int64_t workers = 1;
  std::string log_level = "info";
  std::string log_format = "text";
  int64_t max_queued_jobs = 1000;
  int64_t max_queued_jobs_per_client = 500;
  int64_t max_bytes_per_client = 0;
  int64_t max_blob_bytes = int64_t{16} << 30;
  int64_t min_free_bytes = int64_t{256} << 20;
  int64_t max_watches = 10'000;
  int64_t max_watches_per_client = 1000;
  int64_t max_transfers = 64;
  int64_t max_transfers_per_client = 32;
  int64_t max_uploads = 512;
  int64_t max_uploads_per_client = 128;
  int64_t max_upload_bytes_per_client = int64_t{64} << 30;
  int64_t keep_days = 30;
  int64_t max_stored_bytes = 0;
  int64_t spare_seconds = 3600;
  int64_t tidy_seconds = 600;
  int64_t scrub_bytes_per_second = int64_t{4} << 20;
  int64_t max_job_seconds = 3600;
  int64_t max_silent_seconds = 900;
  int64_t checkpoint_seconds = 30;
  int64_t endpoint_grace_seconds = 5;
  int64_t drain_seconds = 20;
  std::string onnxruntime;
  bool no_precedence = false;
  bool no_sandbox = false;
  bool metrics_page = false;
  bool help = false;
  bool version = false;
};

// Parses "--name value" and "--name=value". `arguments` does not include the program's name.
// Returns OPTION_INVALID, naming the argument, if one is unknown or has a wrong value.
absl::StatusOr<ServerFlags> ParseFlags(std::span<const char* const> arguments);

// Returns the text that --help prints.
std::string FlagsHelp();

}  // namespace quotient::config
