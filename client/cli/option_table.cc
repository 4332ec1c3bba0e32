#include "client/cli/option_table.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cpp/job_client.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/device_table.h"
#include "core/optimize/job_options.h"

namespace quotient::cli {
namespace {

constexpr unsigned kRun = kOptimize | kSubmit;
constexpr unsigned kRemote = kOptimize | kExplain | kSubmit | kWatch | kResult | kCancel | kStop |
                             kDelete | kJobs | kInspect | kValidate | kVerify | kReplay;
constexpr unsigned kAll = ~0u;
constexpr int kMostPriority = 10;  // JobPolicy.priority

absl::Status Invalid(absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, problem);
}

template <typename Integer>
absl::Status SetInteger(absl::string_view text, Integer* field) {
  if (absl::SimpleAtoi(text, field)) return absl::OkStatus();
  return Invalid(absl::StrCat("'", Escaped(text), "' is not a whole number in range"));
}

absl::Status SetPriority(absl::string_view text, int* priority) {
  QUOTIENT_RETURN_IF_ERROR(SetInteger(text, priority));
  if (*priority >= -kMostPriority && *priority <= kMostPriority) return absl::OkStatus();
  return Invalid(absl::StrCat(-kMostPriority, " to ", kMostPriority));
}

absl::Status SetPositiveTime(absl::string_view text, double* seconds) {
  QUOTIENT_RETURN_IF_ERROR(optimize::ParseDuration(text, seconds));
  return *seconds > 0 ? absl::OkStatus() : Invalid("is 0");
}

absl::Status SetPercent(absl::string_view text, double* percent) {
  if (absl::SimpleAtod(text, percent) && *percent >= 0 && *percent < 100) return absl::OkStatus();
  return Invalid(absl::StrCat("'", Escaped(text), "' is not a percentage from 0 to below 100"));
}

absl::Status SetText(absl::string_view text, std::string* field) {
  if (text.empty()) return Invalid("is empty");
  *field = std::string(text);
  return absl::OkStatus();
}

absl::Status Set(bool* field) {
  *field = true;
  return absl::OkStatus();
}

using S = Settings;
using V = absl::string_view;

std::vector<Option> FileOptions() {
  return {
      {.name = "output",
       .short_name = 'o',
       .value = "OUT.onnx",
       .commands = kOptimize | kResult | kSimplify,
       .completion = Completion::kModelFile,
       .help = "where the optimized model goes; replaced as a whole or not at all",
       .apply = [](V value, S* s) { return SetText(value, &s->output); }},
      {.name = "output",
       .short_name = 'o',
       .value = "OUT.onnx",
       .commands = kReplay,
       .completion = Completion::kModelFile,
       .help = "where the model that MODEL and JOURNAL make goes; replaced as a whole or not at "
               "all; not with JOB, whose result 'quotient result' gets",
       .apply = [](V value, S* s) { return SetText(value, &s->output); }},
      {.name = "output",
       .short_name = 'o',
       .value = "OUT.onnx",
       .commands = kSubmit,
       .completion = Completion::kModelFile,
       .help = "the name that 'quotient result -o' is going to give the result: if its weights go "
               "to a file of their own, that is OUT.onnx.data, default model.onnx.data; submit "
               "itself writes no file",
       .apply = [](V value, S* s) { return SetText(value, &s->output); }},
      {.name = "server",
       .value = "ADDRESS",
       .commands = kRemote,
       .help = "HOST:PORT of the server; default $QUOTIENT_SERVER, else 127.0.0.1:7070",
       .apply = [](V value, S* s) { return SetText(value, &s->server); }},
      {.name = "local",
       .commands = kOptimize | kExplain | kInspect | kValidate,
       .help = "work in this process, without a server",
       .apply = [](V, S* s) { return Set(&s->local); }},
      {.name = "report",
       .value = "R.json",
       .commands = kOptimize | kResult,
       .completion = Completion::kFile,
       .help = "write the cost report as JSON",
       .apply = [](V value, S* s) { return SetText(value, &s->report); }},
      {.name = "html",
       .value = "R.html",
       .commands = kOptimize | kExplain | kResult,
       .completion = Completion::kFile,
       .help = "write the cost report as a page",
       .apply = [](V value, S* s) { return SetText(value, &s->html); }},
      {.name = "journal",
       .value = "FILE",
       .commands = kOptimize | kResult,
       .completion = Completion::kFile,
       .help =
           "write how the result follows from the model, for 'quotient replay', which is more than "
           "the list 'journal' of the report; exit code 1, with all else written, if the result "
           "has no journal",
       .apply = [](V value, S* s) { return SetText(value, &s->journal); }},
  };
}

// What builds need: a result that is pinned, and what their tools look at.
std::vector<Option> BuildOptions() {
  return {
      {.name = "lock",
       .value = "FILE",
       .commands = kOptimize,
       .completion = Completion::kFile,
       .help =
           "take the result that this file pins, from --cache or from a job, or fail: exit code "
           "7 with LOCK_DIFFERS if model, options, engine or result are others",
       .apply = [](V value, S* s) { return SetText(value, &s->lock); }},
      {.name = "update-lock",
       .commands = kOptimize,
       .help = "run the job whatever --lock pins, and write that file anew",
       .apply = [](V, S* s) { return Set(&s->update_lock); }},
      {.name = "cache",
       .value = "FOLDER",
       .commands = kOptimize,
       .completion = Completion::kFile,
       .help = "where results of --lock are kept and found, so that no server is needed for them; "
               "default ~/.cache/quotient/results",
       .apply = [](V value, S* s) { return SetText(value, &s->result_cache); }},
      {.name = "require-improvement",
       .value = "PCT",
       .commands = kOptimize,
       .help = "exit code 6 with IMPROVEMENT_TOO_SMALL, and no OUT.onnx, if the result gains less, "
               "as measured, or as predicted where no gain was measured; the reports are written; "
               "0: it need not gain",
       .apply = [](V value, S* s) { return SetPercent(value, &s->required_percent); }},
      {.name = "max-seconds",
       .value = "N",
       .commands = kOptimize,
       .help = "what this command may take, waiting included: then it withdraws the job and fails "
               "with RUN_BUDGET and exit code 5; it does not change a result, as --budget does",
       .apply = [](V value, S* s) { return SetPositiveTime(value, &s->max_seconds); }},
      {.name = "restat",
       .commands = kOptimize,
       .help = "files that have the same bytes already stay as they are, with their times",
       .apply = [](V, S* s) { return Set(&s->restat); }},
      {.name = "depfile",
       .value = "FILE",
       .commands = kOptimize,
       .completion = Completion::kFile,
       .help = "write what OUT.onnx depends on as a rule for make: the model, its external data, "
               "--device-snapshot, --lock",
       .apply = [](V value, S* s) { return SetText(value, &s->depfile); }},
      {.name = "depfile-target",
       .value = "NAME",
       .commands = kOptimize,
       .help = "what the rule of --depfile makes, default OUT.onnx",
       .apply = [](V value, S* s) { return SetText(value, &s->depfile_target); }},
  };
}

// The commands that accept an option of a job: 'bisect' has no report, and a profile, a comparison
// and simplifying depend on some options only.
unsigned CommandsOf(const optimize::JobOption& option) {
  if (option.is_of_report) return kRun;
  return kRun | kExplain | kBisect | kValidate | (option.is_of_running ? kProfile : 0u) |
         (option.is_of_checking ? kCheck | kSimplify : 0u) |
         (option.is_of_simplifying ? kSimplify : 0u);
}

// An option of a job.
Option OfJob(const optimize::JobOption& option) {
  return {.name = option.flag,
          .value = option.placeholder,
          .commands = CommandsOf(option),
          .repeatable = option.is_repeatable(),
          .completion = option.choices.empty() ? Completion::kNothing : Completion::kChoices,
          .choices = option.choices,
          .help = option.help,
          .apply = [&option](V value, S* s) {
            return optimize::SetFromText(option, value, &s->options);
          }};
}

std::vector<Option> OtherOptions() {
  return {
      {.name = "check",
       .value = "CMD",
       .commands = kBisect,
       .help = "a command that the shell runs with a model's path as its last argument; status 0 "
               "accepts the model",
       .apply = [](V value, S* s) { return SetText(value, &s->check); }},
      {.name = "device-snapshot",
       .value = "FILE",
       .commands = kRun | kBisect,
       .completion = Completion::kFile,
       .help = "what to optimize for: a device that need not be there, by a file of 'quotient "
               "snapshot'",
       .apply = [](V value, S* s) { return SetText(value, &s->device_snapshot); }},
      {.name = "onnxruntime",
       .value = "FILE",
       .commands = kOptimize | kExplain | kBisect | kProfile | kSnapshot,
       .completion = Completion::kFile,
       .help =
           "the library of the device onnxruntime on this machine (optimize, explain: only with "
           "--local); "
           "default $QUOTIENT_ONNXRUNTIME, else the one that was installed with this program",
       .apply =
           [](V value, S* s) {
             return SetText(value, &s->environment[kernels::onnxruntime::kLibraryVariable]);
           }},
      {.name = "no-precedence",
       .commands = kOptimize | kExplain | kBisect | kProfile,
       .help =
           "what is timed on this machine waits for cores like other programs (optimize, "
           "explain: only with --local); else it goes before them where the system permits that",
       .apply = [](V, S* s) { return Set(&s->no_precedence); }},
      {.name = "output",
       .short_name = 'o',
       .value = "FILE",
       .commands = kSnapshot,
       .completion = Completion::kFile,
       .help = "where the snapshot goes; replaced as a whole or not at all",
       .apply = [](V value, S* s) { return SetText(value, &s->output); }},
      {.name = "device",
       .value = "NAME",
       .commands = kSnapshot,
       .completion = Completion::kChoices,
       .choices = optimize::DeviceNames(optimize::DeviceFilter::kMeasured),
       .help = absl::StrCat("the device to record, default ", optimize::Options().device, ":\n",
                            optimize::DevicesHelp(optimize::DeviceFilter::kMeasured)),
       .apply = [](V value, S* s) { return SetText(value, &s->options.device); }},
      {.name = "threads",
       .value = "N",
       .commands = kSnapshot,
       .help = "threads of its kernels, default 0: one per core, at most 16",
       .apply = [](V value, S* s) { return SetInteger(value, &s->options.threads); }},
      {.name = "timings",
       .value = "FILE",
       .commands = kSnapshot,
       .completion = Completion::kFile,
       .help = "the times of a server or of another user; default: those that --local keeps",
       .apply = [](V value, S* s) { return SetText(value, &s->timings); }},
      {.name = "seed",
       .value = "N",
       .commands = kVerify,
       .help = "of the random inputs; default: the job's",
       .apply = [](V value, S* s) { return SetInteger(value, &s->verify_seed.emplace()); }},
      {.name = "verify-inputs",
       .value = "N",
       .commands = kVerify,
       .help = "number of sets of random inputs; default: the job's",
       .apply = [](V value, S* s) { return SetInteger(value, &s->verify_sets.emplace()); }},
      {.name = "stats",
       .commands = kRules,
       .help = "what the rules did and saved in all jobs of 'quotient optimize --local', by device",
       .apply = [](V, S* s) { return Set(&s->stats); }},
      {.name = "stats-from",
       .value = "FILE",
       .commands = kRules,
       .completion = Completion::kFile,
       .help = "the same of a server or of another user: rules.db in its data or cache folder",
       .apply = [](V value, S* s) { return SetText(value, &s->stats_from); }},
      {.name = "html",
       .value = "P.html",
       .commands = kProfile,
       .completion = Completion::kFile,
       .help = "write the profile as a page with a picture",
       .apply = [](V value, S* s) { return SetText(value, &s->html); }},
      {.name = "no-cache",
       .commands = kRun | kExplain,
       .help = "optimize anew even if the server has the result of an equal job (the same model, "
               "options, device and version); --local has no such results",
       .apply = [](V, S* s) { return Set(&s->no_cache); }},
      {.name = "only-cached",
       .commands = kOptimize,
       .help = "take the result of an equal job, if the server has one, and start no work; else "
               "fail with RESULT_NOT_FOUND and exit code 5; not with --local",
       .apply = [](V, S* s) { return Set(&s->only_cached); }},
      {.name = "priority",
       .value = "N",
       .commands = kRun | kExplain,
       .help = "-10 to 10, default 0: of your waiting jobs on a server, that of the highest runs "
               "first; a level is worth ten minutes of waiting",
       .apply = [](V value, S* s) { return SetPriority(value, &s->priority); }},
      {.name = "queue-deadline",
       .value = "TIME",
       .commands = kRun | kExplain,
       .help =
           "the job fails with QUEUE_DEADLINE if the server has not begun it by then, e.g. 10m; "
           "default: it may wait for ever; not with --local",
       .apply = [](V value, S* s) { return SetPositiveTime(value, &s->queue_seconds); }},
      {.name = "run-deadline",
       .value = "TIME",
       .commands = kRun | kExplain,
       .help = "what the job may take on the server at most: it finishes early with the best that "
               "it has, and fails with RUN_BUDGET if nothing is checked in time",
       .apply = [](V value, S* s) { return SetPositiveTime(value, &s->run_seconds); }},
      {.name = "patience",
       .value = "TIME",
       .commands = kRemote,
       .help = "how long this command waits for a server that goes away meanwhile, e.g. 90s or "
               "5m, default 60s; the job does not depend on it",
       .apply = [](V value, S* s) { return optimize::ParseDuration(value, &s->patience_seconds); }},
      {.name = "state",
       .value = "STATE",
       .commands = kJobs,
       .completion = Completion::kChoices,
       .choices = client::StateOptions(),
       .help =
           absl::StrCat("only jobs in this state: ", absl::StrJoin(client::StateOptions(), ", ")),
       .apply = [](V value, S* s) { return SetText(value, &s->state); }},
      {.name = "client",
       .value = "HOST",
       .commands = kJobs,
       .help = "only jobs that this machine submitted, by its address as --json has it",
       .apply = [](V value, S* s) { return SetText(value, &s->client); }},
      {.name = "model",
       .value = "MODEL.onnx",
       .commands = kJobs,
       .completion = Completion::kModelFile,
       .help = "only jobs of this model, by the content of the file",
       .apply = [](V value, S* s) { return SetText(value, &s->model_file); }},
      {.name = "since",
       .value = "TIME",
       .commands = kJobs,
       .help = "only jobs that were submitted within this time, e.g. 90m",
       .apply = [](V value, S* s) { return SetPositiveTime(value, &s->since_seconds); }},
      {.name = "limit",
       .value = "N",
       .commands = kJobs,
       .help = "list at most so many; default 20",
       .apply = [](V value, S* s) { return SetInteger(value, &s->limit); }},
      {.name = "json",
       .commands =
           kRemote | kBisect | kCheck | kSimplify | kProfile | kSnapshot | kRules | kVersion,
       .help = "print JSON for programs",
       .apply = [](V, S* s) { return Set(&s->json); }},
      {.name = "help",
       .short_name = 'h',
       .commands = kAll,
       .help = "print this and exit",
       .apply = [](V, S* s) { return Set(&s->help); }},
  };
}

std::vector<Option> AllOptions() {
  std::vector<Option> options = FileOptions();
  for (const optimize::JobOption& option : optimize::JobOptions()) {
    options.push_back(OfJob(option));
  }
  std::ranges::move(BuildOptions(), std::back_inserter(options));
  std::ranges::move(OtherOptions(), std::back_inserter(options));
  return options;
}

}  // namespace

std::span<const Option> Options() {
  static const auto& options = *new std::vector<Option>(AllOptions());
  return options;
}

}  // namespace quotient::cli
