// quotient: parses the command line, runs one command, and returns the exit code.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <span>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/cli/build_failure.h"
#include "client/cli/command_table.h"
#include "client/cli/commands.h"
#include "client/cli/exit_code.h"
#include "client/cli/help.h"
#include "client/cli/parse.h"
#include "client/cpp/interrupt.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/os/environment.h"
#include "core/os/guarded_main.h"
#include "core/os/openmp_environment.h"

namespace quotient::cli {
namespace {

using Run = absl::Status (*)(const Settings&, client::Interrupt*);

Run RunOf(CommandBit command) {
  switch (command) {
    case kOptimize:
      return &RunOptimize;
    case kExplain:
      return &RunExplain;
    case kSubmit:
      return &RunSubmit;
    case kWatch:
      return &RunWatch;
    case kResult:
      return &RunResult;
    case kCancel:
      return &RunCancel;
    case kStop:
      return &RunStop;
    case kDelete:
      return &RunDelete;
    case kJobs:
      return &RunJobs;
    case kInspect:
      return &RunInspect;
    case kProfile:
      return &RunProfile;
    case kSnapshot:
      return &RunSnapshot;
    case kBisect:
      return &RunBisect;
    case kRules:
      return &RunRules;
    case kSimplify:
      return &RunSimplify;
    case kCheck:
    case kValidate:
    case kVerify:
    case kReplay:
      break;  // See RunCommand.
    case kVersion:
      return &RunVersion;
    case kCompletion:
      return &RunCompletion;
  }
  return nullptr;
}

// The exit code of one command tells more than that it has done its work.
absl::StatusOr<ExitCode> RunCommand(CommandBit command, const Settings& settings,
                                    client::Interrupt* interrupt) {
  if (command == kCheck) return RunCheck(settings, interrupt);
  if (command == kValidate) return RunValidate(settings, interrupt);
  if (command == kVerify) return RunVerify(settings, interrupt);
  if (command == kReplay) return RunReplay(settings, interrupt);
  const absl::Status status = RunOf(command)(settings, interrupt);
  if (!status.ok()) return status;
  return kExitDone;
}

// Triggers the interrupt on the first SIGINT or SIGTERM. The third signal kills the process. The
// second does nothing, because timeout(1) signals the process and then its group, so that one
// request arrives twice. Blocks the signals in the calling thread and in all threads it starts.
class SignalThread {
 public:
  explicit SignalThread(client::Interrupt* interrupt) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, kEnd);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    signal(SIGPIPE, SIG_IGN);
    thread_ = std::jthread([this, interrupt] { Wait(interrupt); });
  }
  ~SignalThread() { pthread_kill(thread_.native_handle(), kEnd); }

 private:
  static constexpr int kEnd = SIGUSR1;
  static constexpr int kKills = 3;

  void Wait(client::Interrupt* interrupt) {
    int number = 0;
    for (int count = 0; count < kKills; ++count) {
      sigwait(&signals_, &number);
      if (number == kEnd) return;
      interrupt->Trigger();
    }
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    raise(number);
  }

  sigset_t signals_;
  std::jthread thread_;
};

void PrintError(const absl::Status& status) {
  std::fprintf(stderr, "quotient: %s: %s\n", FailureName(status).c_str(),
               Printable(status.message()).c_str());
}

int UsageError(const absl::Status& status, absl::string_view command) {
  PrintError(status);
  const std::string topic = command.empty() ? "" : absl::StrCat(command, " ");
  std::fprintf(stderr, "Try 'quotient %s--help'.\n", topic.c_str());
  return kExitUsage;
}

int Main(std::span<const char* const> arguments, const os::Environment& environment) {
  if (arguments.empty()) {
    std::fputs(GeneralHelp().c_str(), stderr);
    return kExitUsage;
  }
  const absl::string_view name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(GeneralHelp().c_str(), stdout);
    return kExitDone;
  }
  const Command* const command = FindCommand(name == "--version" ? "version" : name);
  if (command == nullptr) {
    return UsageError(
        MakeError(Reason::kOptionInvalid, absl::StrCat("no command '", Escaped(name), "'")), "");
  }
  absl::StatusOr<Settings> settings = ParseArguments(*command, arguments.subspan(1));
  if (!settings.ok()) return UsageError(settings.status(), command->name);
  if (settings->help) {
    std::fputs(CommandHelp(*command).c_str(), stdout);
    return kExitDone;
  }
  settings->environment.insert(environment.begin(), environment.end());  // Options come first.
  client::Interrupt interrupt;
  const SignalThread signals(&interrupt);
  const absl::StatusOr<ExitCode> code = RunCommand(command->bit, *settings, &interrupt);
  if (code.ok()) return *code;
  PrintError(code.status());
  return ExitCodeOf(code.status());
}

}  // namespace
}  // namespace quotient::cli

int main(int argc, char** argv) {
  using quotient::cli::kExitServer;
  return quotient::os::GuardedMain(
      "quotient", {.other = kExitServer, .out_of_memory = kExitServer}, [&] {
        const quotient::os::Environment environment = quotient::os::ReadEnvironment(environ);
        quotient::os::EnsureOpenMpEnvironment(argv, environment);
        return quotient::cli::Main({argv + 1, static_cast<size_t>(argc > 0 ? argc - 1 : 0)},
                                   environment);
      });
}
