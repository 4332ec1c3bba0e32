#include "server/ops/crash_notes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <iterator>

namespace quotient::ops {
namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

// Handlers of signals and of termination have no other way to their data. Constant once set.
struct sigaction g_before[std::size(kFatal)];
std::terminate_handler g_terminate = nullptr;
std::atomic<const store::RunRecord*> g_record = nullptr;
// Whether a crash was noted: an exception that nobody catches may end in SIGABRT.
std::atomic<bool> g_noted = false;

void Note() {
  const store::RunRecord* const record = g_record.load();
  if (record == nullptr || g_noted.exchange(true)) return;
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  record->NoteCrash(name);
}

// Whether a thread of this process has caused the signal, by what it executes or by abort().
bool IsOurs(const siginfo_t& info) { return info.si_code > 0 || info.si_pid == getpid(); }

void OnFatalSignal(int number, siginfo_t* info, void* /*context*/) {
  if (IsOurs(*info)) Note();
  for (size_t i = 0; i < std::size(kFatal); ++i) {
    if (kFatal[i] == number) sigaction(number, &g_before[i], nullptr);
  }
  // A fault comes again when its instruction is repeated, with all that a debugger or sanitizer
  // wants to know. A signal that was sent does not.
  if (info->si_code <= 0) raise(number);
}

[[noreturn]] void OnTerminate() {
  Note();
  g_terminate();
  _exit(1);
}

}  // namespace

void NoteCrashesIn(const store::RunRecord* record) {
  g_terminate = std::set_terminate(OnTerminate);
  g_record = record;
  struct sigaction ours = {};
  ours.sa_sigaction = OnFatalSignal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < std::size(kFatal); ++i) {
    sigaction(kFatal[i], nullptr, &g_before[i]);
    sigaction(kFatal[i], &ours, nullptr);
  }
}

}  // namespace quotient::ops
