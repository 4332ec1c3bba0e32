// quotient bisect: finds the rule whose rewrite a user's own check objects to.

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/device_snapshot.h"
#include "client/cli/local.h"
#include "client/cpp/model_files.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"

namespace quotient::cli {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

// A folder that is removed with all its files.
class TemporaryFolder {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryFolder>> Make(const os::Environment& environment) {
    const std::string root = os::ValueOf(environment, "TMPDIR");
    std::string path = absl::StrCat(root.empty() ? "/tmp" : root, "/quotient-bisect-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return MakeError(Reason::kOptionInvalid, absl::StrCat("cannot make a folder ", path));
    }
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

absl::Status Save(const std::string& path,
                  const std::function<absl::Status(ResultSource::Sink)>& read) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(path));
  QUOTIENT_RETURN_IF_ERROR(read([&](absl::string_view bytes) { return file->Append(bytes); }));
  return file->Commit();
}

// Starts `check`, by the shell, with a model's path as its last argument, in a process group of its
// own. What it prints goes to standard error, because standard output is for the result.
absl::StatusOr<pid_t> StartCheck(const std::string& check, const std::string& model) {
  std::string words[] = {"sh", "-c", absl::StrCat(check, " \"$1\""), "quotient bisect", model};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(),
                       words[3].data(), words[4].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // This program handles signals in a thread of its own, and ignores two.
  sigset_t none, ignored;
  sigemptyset(&none);
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return absl::InternalError("--check: /bin/sh cannot be run");
  return pid;
}

// Runs `check` and returns whether its status is 0. The interrupt ends it: CANCELLED.
absl::StatusOr<bool> Accepts(const std::string& check, const std::string& model,
                             client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const pid_t pid, StartCheck(check, model));
  siginfo_t ended = {};
  {
    const client::Interrupt::Handler handler(interrupt, [pid] { kill(-pid, SIGTERM); });
    // Without reaping the process, so that the handler cannot meet another one with its number.
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) < 0) {
      if (errno != EINTR) return absl::InternalError("--check: its status is not known");
    }
  }
  waitpid(pid, nullptr, 0);
  if (interrupt->triggered()) return absl::CancelledError("interrupted");
  const bool has_status = ended.si_code == CLD_EXITED;
  // The shell's own words for what is no program, as opposed to one that objects.
  if (has_status && (ended.si_status == 126 || ended.si_status == 127)) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("--check: '", Printable(check), "' cannot be run"));
  }
  return has_status && ended.si_status == 0;
}

// What came out without some rules, and what the check says of it.
struct Trial {
  bool accepted = false;
  Json journal;  // Of the report: the rewrites that the result uses.
};

// The rules of a journal entry, in order of use.
Names RulesOf(const Json& entry) {
  Names rules = entry.value("steps", Names());
  const std::string last = entry.value("rule", std::string());
  if (!last.empty() && std::ranges::find(rules, last) == rules.end()) rules.push_back(last);
  return rules;
}

// Adds those rules of the journal that are not there yet. Returns whether there are any.
bool AddRules(const Json& journal, Names* names) {
  const size_t before = names->size();
  for (const Json& entry : journal) {
    for (const std::string& rule : RulesOf(entry)) {
      if (std::ranges::find(*names, rule) == names->end()) names->push_back(rule);
    }
  }
  return names->size() > before;
}

// The nodes of the original that rewrites by this rule replace.
Names SitesOf(const Json& journal, const std::string& rule) {
  Names sites;
  for (const Json& entry : journal) {
    const Names rules = RulesOf(entry);
    if (std::ranges::find(rules, rule) == rules.end()) continue;
    sites.push_back(entry.value("site", std::string()));
  }
  return sites;
}

struct Finding {
  // Without them, the check accepts the result. Empty if it accepts it with all rules.
  Names rules;
  Names sites;
  int trials = 0;
};

class Bisection {
 public:
  Bisection(const Settings& settings, const client::LocalModel& model, std::string folder,
            client::Interrupt* interrupt)
      : settings_(settings), model_(model), folder_(std::move(folder)), interrupt_(interrupt) {}

  // Lists the rules that were used, and looks for the fewest from the beginning of the list without
  // which the result is accepted. The last of these is the rule, if it is enough to leave it out;
  // else several do harm.
  absl::StatusOr<Finding> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(const bool accepted,
                              Accepts(settings_.check, settings_.positional[0], interrupt_));
    if (!accepted) {
      return MakeError(Reason::kOptionInvalid, "--check: it also objects to the model itself");
    }
    Names rules;
    QUOTIENT_ASSIGN_OR_RETURN(const Trial first, Try({}));
    if (first.accepted) return Finding{.trials = trials_};
    AddRules(first.journal, &rules);
    Json journal = first.journal;
    for (Trial last = first; !last.accepted;) {
      QUOTIENT_ASSIGN_OR_RETURN(last, Try(rules));
      // Other rules may take the place of those that are left out.
      if (!last.accepted && !AddRules(last.journal, &rules)) {
        return MakeError(Reason::kOptionInvalid,
                         "--check: it also objects to what comes out without these rules: folded "
                         "constants, another order of nodes");
      }
      journal.insert(journal.end(), last.journal.begin(), last.journal.end());
    }
    if (rules.empty()) return absl::InternalError("a rewritten model has no rewrites");
    size_t rejected = 0, left_out = rules.size();
    while (left_out - rejected > 1) {
      const size_t middle = rejected + (left_out - rejected) / 2;
      QUOTIENT_ASSIGN_OR_RETURN(const Trial trial,
                                Try(Names(rules.begin(), rules.begin() + middle)));
      (trial.accepted ? left_out : rejected) = middle;
    }
    const std::string& culprit = rules[left_out - 1];
    Finding finding{.rules = {culprit}, .sites = SitesOf(journal, culprit)};
    if (left_out > 1) {
      QUOTIENT_ASSIGN_OR_RETURN(const Trial alone, Try(finding.rules));
      if (!alone.accepted) {
        QUOTIENT_ASSIGN_OR_RETURN(finding.rules,
                                  Fewest(Names(rules.begin(), rules.begin() + left_out)));
      }
    }
    finding.trials = trials_;
    return finding;
  }

 private:
  // Those of the rules, without which the result is accepted, that all have to be left out. The
  // last one is known to be one of them.
  absl::StatusOr<Names> Fewest(Names rules) {
    for (size_t i = 0; i + 1 < rules.size();) {
      Names fewer = rules;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      QUOTIENT_ASSIGN_OR_RETURN(const Trial trial, Try(fewer));
      if (trial.accepted) {
        rules = std::move(fewer);
      } else {
        ++i;
      }
    }
    return rules;
  }

  absl::StatusOr<Trial> Try(const Names& without) {
    ++trials_;
    Settings settings = settings_;
    settings.output = folder_ + "/model.onnx";
    settings.keeps_statistics = false;  // Jobs without rules say nothing of what these are worth.
    for (const std::string& rule : without) settings.options.disabled_rules.push_back(rule);
    QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<ResultSource> result,
                              OptimizeLocally(model_, settings, interrupt_, nullptr));
    QUOTIENT_ASSIGN_OR_RETURN(const std::string text, result->ReportJson());
    const Json report = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!report.is_object()) return absl::InternalError("the report is no JSON");
    // Without rewrites it is the model itself, which was accepted.
    Trial trial{.accepted = true, .journal = report.value("journal", Json::array())};
    if (!trial.journal.empty()) {
      QUOTIENT_RETURN_IF_ERROR(
          Save(settings.output, [&](ResultSource::Sink sink) { return result->Model(sink); }));
      if (const std::string data = result->external_location(); !data.empty()) {
        QUOTIENT_RETURN_IF_ERROR(
            Save(absl::StrCat(folder_, "/", data),
                 [&](ResultSource::Sink sink) { return result->ExternalData(sink); }));
      }
      QUOTIENT_ASSIGN_OR_RETURN(trial.accepted,
                                Accepts(settings_.check, settings.output, interrupt_));
    }
    std::fprintf(stderr, "%s: %s\n",
                 without.empty() ? "with all rules"
                                 : absl::StrCat("without ", absl::StrJoin(without, ", ")).c_str(),
                 trial.accepted ? "accepted" : "rejected");
    return trial;
  }

  const Settings& settings_;
  const client::LocalModel& model_;
  const std::string folder_;
  client::Interrupt* const interrupt_;
  int trials_ = 0;
};

std::string ToText(const Finding& finding) {
  if (finding.rules.empty()) return "the check accepts the result\n";
  std::string text = absl::StrCat("the check accepts the result with --disable-rule ",
                                  absl::StrJoin(finding.rules, " --disable-rule "), "\n");
  for (const std::string& site : finding.sites) {
    absl::StrAppend(&text, "  ", finding.rules.back(), " at ", site, "\n");
  }
  return text;
}

}  // namespace

absl::Status RunBisect(const Settings& parsed, client::Interrupt* interrupt) {
  QUOTIENT_ASSIGN_OR_RETURN(const Settings settings, WithDeviceSnapshot(parsed));
  QUOTIENT_ASSIGN_OR_RETURN(const client::LocalModel model,
                            client::LocalModel::Open(settings.positional[0]));
  QUOTIENT_ASSIGN_OR_RETURN(const auto folder, TemporaryFolder::Make(settings.environment));
  QUOTIENT_ASSIGN_OR_RETURN(const Finding finding,
                            Bisection(settings, model, folder->path(), interrupt).Run());
  const Json json = {
      {"rules", finding.rules}, {"sites", finding.sites}, {"trials", finding.trials}};
  std::fputs(settings.json ? (json.dump(2) + "\n").c_str() : Printable(ToText(finding)).c_str(),
             stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
