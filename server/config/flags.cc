#include "server/config/flags.h"

#include <limits>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::config {
namespace {

using Field = std::variant<std::string ServerFlags::*, int64_t ServerFlags::*, bool ServerFlags::*>;

constexpr int64_t kMostDays = 36'500;
constexpr int64_t kMostTransfers = 4096;

struct Flag {
  const char* name;
  const char* value;  // Placeholder for the value in the help; nullptr for switches.
  Field field;
  const char* help;
};

const Flag kFlags[] = {
    {"listen", "HOST:PORT", &ServerFlags::listen, "where gRPC is served; port 0: any free one"},
    {"allow-remote", nullptr, &ServerFlags::allow_remote,
     "let --listen be an address that other machines can reach"},
    {"data-dir", "DIR", &ServerFlags::data_dir, "where jobs, models and timings are kept"},
    {"port-file", "FILE", &ServerFlags::port_file,
     "write the address served to FILE once the server is ready"},
    {"metrics-listen", "HOST:PORT", &ServerFlags::metrics_listen,
     "where HTTP is served: /metrics for Prometheus, /livez and /readyz for probes; port 0: any "
     "free one; default: none of these"},
    {"status-page", "WHEN", &ServerFlags::status_page,
     "pages for people on the same port, without login: the server's status, its jobs and their "
     "reports; on, off, or local: if no other machine can connect there, and only by an address "
     "or localhost, so not behind a proxy"},
    {"workers", "N", &ServerFlags::workers, "jobs that run at once"},
    {"log-level", "LEVEL", &ServerFlags::log_level, "debug, info, warn or error"},
    {"log-format", "FORMAT", &ServerFlags::log_format,
     "text, or json: an object per line, with the ids of the job and of its trace"},
    {"max-queued-jobs", "N", &ServerFlags::max_queued_jobs, "more are turned away"},
    {"max-queued-jobs-per-client", "N", &ServerFlags::max_queued_jobs_per_client,
     "those of one machine"},
    {"max-bytes-per-client", "N", &ServerFlags::max_bytes_per_client,
     "files that one machine has sent, or that its jobs need or have made, and records of these "
     "jobs, until they are removed; jobs and uploads that go beyond are turned away; 0: no limit"},
    {"max-blob-bytes", "N", &ServerFlags::max_blob_bytes, "largest file of a model"},
    {"min-free-bytes", "N", &ServerFlags::min_free_bytes,
     "take no uploads while the disk has less free than this"},
    {"max-watches", "N", &ServerFlags::max_watches, "clients that watch a job at once"},
    {"max-watches-per-client", "N", &ServerFlags::max_watches_per_client, "those of one machine"},
    {"max-transfers", "N", &ServerFlags::max_transfers,
     "uploads and downloads that send or receive at once; each takes a thread and some megabytes"},
    {"max-transfers-per-client", "N", &ServerFlags::max_transfers_per_client,
     "those of one machine"},
    {"max-uploads", "N", &ServerFlags::max_uploads, "uploads in progress; more have to wait"},
    {"max-uploads-per-client", "N", &ServerFlags::max_uploads_per_client, "those of one machine"},
    {"max-upload-bytes-per-client", "N", &ServerFlags::max_upload_bytes_per_client,
     "bytes that these may still have to send, unless it is one upload"},
    {"keep-days", "N", &ServerFlags::keep_days,
     "jobs that have ended, and whose result nobody has asked for in so many days, are removed "
     "with their files; 0: none are"},
    {"max-stored-bytes", "N", &ServerFlags::max_stored_bytes,
     "files of models and results and records of jobs that are kept in all; of more, the results "
     "that were not used for longest are removed; 0: as many as the disk has room for"},
    {"spare-seconds", "N", &ServerFlags::spare_seconds,
     "what was used in the last N seconds stays even then, such as a model that was sent for a "
     "job"},
    {"tidy-seconds", "N", &ServerFlags::tidy_seconds,
     "how often it is looked for what can be removed"},
    {"scrub-bytes-per-second", "N", &ServerFlags::scrub_bytes_per_second,
     "stored files are read so fast, again and again, to find damage; 0: not at all"},
    {"max-job-seconds", "N", &ServerFlags::max_job_seconds,
     "what an attempt of a job may take; after two thirds of it, it finishes with the best that it "
     "has"},
    {"max-silent-seconds", "N", &ServerFlags::max_silent_seconds,
     "a job that makes no progress for this long and its budget together is taken to hang; its "
     "process is ended, and the job is tried again; 0: no limit"},
    {"checkpoint-seconds", "N", &ServerFlags::checkpoint_seconds,
     "a killed job loses so much of its search, and the step in hand; 0: all of it"},
    {"endpoint-grace-seconds", "N", &ServerFlags::endpoint_grace_seconds,
     "at SIGTERM, a server that is not ready any more answers for this long, until no calls are "
     "routed to it; with --allow-remote"},
    {"drain-seconds", "N", &ServerFlags::drain_seconds,
     "then calls in progress get this long to end"},
    {"onnxruntime", "FILE", &ServerFlags::onnxruntime,
     "the library of the device onnxruntime, which must be usable; default $QUOTIENT_ONNXRUNTIME, "
     "else the one that was installed with this program"},
    {"no-precedence", nullptr, &ServerFlags::no_precedence,
     "what is timed waits for cores like other programs; else it goes before them where the system "
     "permits that"},
    {"metrics-page", nullptr, &ServerFlags::metrics_page,
     "print a page that describes all metrics and exit"},
    {"no-sandbox", nullptr, &ServerFlags::no_sandbox,
     "processes of jobs may do all that the server may; else they have no network, no files but "
     "their own, and no control group"},
    {"help", nullptr, &ServerFlags::help, "print this and exit"},
    {"version", nullptr, &ServerFlags::version, "print the version and exit"},
};

const Flag* FindFlag(absl::string_view name) {
  for (const Flag& flag : kFlags) {
    if (name == flag.name) return &flag;
  }
  return nullptr;
}

absl::Status Invalid(absl::string_view argument, absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, absl::StrCat("--", argument, ": ", problem));
}

absl::Status SetValue(const Flag& flag, absl::string_view text, ServerFlags* flags) {
  if (const auto* field = std::get_if<std::string ServerFlags::*>(&flag.field)) {
    flags->*(*field) = std::string(text);
    return absl::OkStatus();
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return Invalid(flag.name, "not a number");
  flags->*std::get<int64_t ServerFlags::*>(flag.field) = number;
  return absl::OkStatus();
}

absl::Status Validate(const ServerFlags& flags) {
  if (flags.workers < 1 || flags.workers > 64) return Invalid("workers", "1 to 64");
  if (flags.data_dir.empty()) return Invalid("data-dir", "empty");
  if (flags.keep_days > kMostDays) return Invalid("keep-days", "too many");
  for (const char* name : {"spare-seconds", "tidy-seconds"}) {
    const int64_t seconds = flags.*std::get<int64_t ServerFlags::*>(FindFlag(name)->field);
    if (seconds < 1 || seconds > kMostDays * 24 * 3600) return Invalid(name, "1 to a century");
  }
  if (flags.max_transfers > kMostTransfers) return Invalid("max-transfers", "too many");
  for (const char* name :
       {"max-queued-jobs", "max-queued-jobs-per-client", "max-transfers-per-client", "max-uploads",
        "max-uploads-per-client", "max-watches", "max-watches-per-client"}) {
    const auto field = std::get<int64_t ServerFlags::*>(FindFlag(name)->field);
    if (flags.*field > std::numeric_limits<int>::max()) return Invalid(name, "too large");
  }
  // The library would take a list, and serve pages for this machine on each of them.
  if (absl::StrContains(flags.metrics_listen, ','))
    return Invalid("metrics-listen", "one HOST:PORT");
  if (flags.status_page != "local" && flags.status_page != "on" && flags.status_page != "off") {
    return Invalid("status-page", "local, on or off");
  }
  if (flags.log_format != "text" && flags.log_format != "json") {
    return Invalid("log-format", "text or json");
  }
  for (const char* level : {"debug", "info", "warn", "error"}) {
    if (flags.log_level == level) return absl::OkStatus();
  }
  return Invalid("log-level", "debug, info, warn or error");
}

// Returns text such as ", default 1"; empty for switches and for empty strings.
std::string DefaultText(const Flag& flag) {
  const ServerFlags defaults;
  if (const auto* field = std::get_if<std::string ServerFlags::*>(&flag.field)) {
    const std::string& text = defaults.*(*field);
    return text.empty() ? "" : absl::StrCat(", default ", text);
  }
  if (const auto* field = std::get_if<int64_t ServerFlags::*>(&flag.field)) {
    return absl::StrCat(", default ", defaults.*(*field));
  }
  return "";
}

}  // namespace

absl::StatusOr<ServerFlags> ParseFlags(std::span<const char* const> arguments) {
  ServerFlags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (!absl::ConsumePrefix(&argument, "--")) {
      return MakeError(Reason::kOptionInvalid, absl::StrCat("unexpected '", arguments[i], "'"));
    }
    const size_t equals = argument.find('=');
    const absl::string_view name = argument.substr(0, equals);
    const Flag* const flag = FindFlag(name);
    if (flag == nullptr) return Invalid(name, "no such option");
    const bool has_value = equals != absl::string_view::npos;
    if (const auto* field = std::get_if<bool ServerFlags::*>(&flag->field)) {
      if (has_value) return Invalid(name, "takes no value");
      flags.*(*field) = true;
      continue;
    }
    if (!has_value && i + 1 == arguments.size()) return Invalid(name, "needs a value");
    const absl::string_view value =
        has_value ? argument.substr(equals + 1) : absl::string_view(arguments[++i]);
    QUOTIENT_RETURN_IF_ERROR(SetValue(*flag, value, &flags));
  }
  QUOTIENT_RETURN_IF_ERROR(Validate(flags));
  return flags;
}

std::string FlagsHelp() {
  std::string help =
      "Usage: quotientd [OPTION]...\n"
      "Serves the optimization of ONNX models over gRPC.\n\n";
  for (const Flag& flag : kFlags) {
    const std::string left =
        flag.value == nullptr ? flag.name : absl::StrCat(flag.name, " ", flag.value);
    absl::StrAppendFormat(&help, "  --%-26s %s%s\n", left, flag.help, DefaultText(flag));
  }
  return help;
}

}  // namespace quotient::config
