#include "core/os/guarded_main.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

namespace quotient::os {
namespace {

// Constant while the program runs.
const char* g_program = "";
FailureStatus g_status = {EXIT_FAILURE, EXIT_FAILURE};

// Memory may have run out, so nothing is allocated here.
void Print(const char* what, const char* details) {
  char line[512];
  const int size = std::snprintf(line, sizeof(line), "%s: %s%s\n", g_program, what, details);
  if (size <= 0) return;
  const auto shown =
      static_cast<size_t>(size) < sizeof(line) ? static_cast<size_t>(size) : sizeof(line) - 1;
  if (write(STDERR_FILENO, line, shown) < 0) return;
}

// Says what the exception that is being handled is. Returns the exit status.
int Report() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    Print("no memory is left", "");
    return g_status.out_of_memory;
  } catch (const std::system_error& error) {
    // This is how the C++ library says that a thread cannot be started.
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    Print(is_thread ? "no thread can be started: " : "the system refuses: ", error.what());
  } catch (const std::exception& error) {
    Print("INTERNAL: ", error.what());
  } catch (...) {
    Print("INTERNAL: ", "an exception of an unknown kind");
  }
  return g_status.other;
}

// Whether `run` has not come back. libgomp calls exit() where it cannot start a thread.
std::atomic<bool> g_runs = false;

void AtExit() {
  if (!g_runs) return;
  std::fflush(nullptr);
  _exit(g_status.other);
}

[[noreturn]] void Terminate() {
  if (std::current_exception() == nullptr) std::abort();
  _exit(Report());
}

}  // namespace

int GuardedMain(const char* program, FailureStatus status, absl::FunctionRef<int()> run) {
  g_program = program;
  g_status = status;
  std::set_terminate(Terminate);
  std::atexit(AtExit);
  signal(SIGXFSZ, SIG_IGN);
  int result;
  g_runs = true;
  try {
    result = run();
  } catch (...) {
    result = Report();
  }
  g_runs = false;
  return result;
}

}  // namespace quotient::os
