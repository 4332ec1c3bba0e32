#include "core/os/fault_point.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::os {
namespace {

enum class Action { kKill, kStop, kSleep };

struct Fault {
  std::string name;
  int64_t passage = 1;
  Action action = Action::kKill;
  int64_t sleep_ms = 0;
  Fd file;  // Opened early, since a process may give up its right to open files.
  std::atomic<int64_t> passages = 0;
};

// Set before there are threads; lives as long as the process.
Fault* chosen = nullptr;

bool ParsePlace(absl::string_view text, Fault* fault) {
  const size_t at = text.find('@');
  fault->name = std::string(text.substr(0, at));
  if (fault->name.empty()) return false;
  if (at == absl::string_view::npos) return true;
  return absl::SimpleAtoi(text.substr(at + 1), &fault->passage) && fault->passage > 0;
}

bool ParseAction(absl::string_view text, Fault* fault) {
  if (absl::ConsumePrefix(&text, "sleep=")) {
    fault->action = Action::kSleep;
    return absl::SimpleAtoi(text, &fault->sleep_ms) && fault->sleep_ms > 0;
  }
  fault->action = text == "stop" ? Action::kStop : Action::kKill;
  return text == "stop" || text == "kill";
}

// Whether no process has come here before, as the file tells. The lock orders processes that come
// here at the same time.
bool TakeTurn(const Fault& fault) {
  struct stat status;
  if (flock(fault.file.get(), LOCK_EX) != 0) return false;
  const bool is_first = fstat(fault.file.get(), &status) == 0 && status.st_size == 0 &&
                        WriteFully(fault.file, absl::StrCat(fault.name, "\n"), fault.name).ok();
  flock(fault.file.get(), LOCK_UN);
  return is_first;
}

}  // namespace

absl::Status ChooseFault(absl::string_view value) {
  if (value.empty()) return absl::OkStatus();
  auto fault = std::make_unique<Fault>();
  const size_t place_end = value.find(':');
  const size_t action_end = value.find(':', place_end + 1);
  if (place_end == absl::string_view::npos || action_end == absl::string_view::npos ||
      !ParsePlace(value.substr(0, place_end), fault.get()) ||
      !ParseAction(value.substr(place_end + 1, action_end - place_end - 1), fault.get())) {
    return absl::InvalidArgumentError(
        absl::StrCat(kFaultVariable, " is not NAME[@N]:ACTION:FILE: ", value));
  }
  QUOTIENT_ASSIGN_OR_RETURN(
      fault->file, OpenFile(std::string(value.substr(action_end + 1)), O_WRONLY | O_CREAT));
  chosen = fault.release();
  return absl::OkStatus();
}

void FaultPoint(absl::string_view name) {
  if (chosen == nullptr || name != chosen->name) return;
  if (++chosen->passages != chosen->passage || !TakeTurn(*chosen)) return;
  switch (chosen->action) {
    case Action::kKill:
      raise(SIGKILL);
      break;
    case Action::kStop:
      raise(SIGSTOP);
      break;
    case Action::kSleep:
      absl::SleepFor(absl::Milliseconds(chosen->sleep_ms));
      break;
  }
}

}  // namespace quotient::os
