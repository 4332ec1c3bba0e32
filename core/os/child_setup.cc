#include "core/os/child_setup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/os/files.h"

namespace quotient::os {
namespace {

constexpr int kRequests[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

void IgnoreRequestsToEnd() {
  for (const int number : kRequests) std::signal(number, SIG_IGN);
}

void BlockRequestsToEnd() {
  sigset_t requests;
  sigemptyset(&requests);
  for (const int number : kRequests) sigaddset(&requests, number);
  pthread_sigmask(SIG_BLOCK, &requests, nullptr);
}

void EndAsRequested() {
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  raise(SIGTERM);
  _exit(EXIT_FAILURE);  // Something handles SIGTERM and goes on.
}

void EndWithStarter() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void YieldToOthers() { setpriority(PRIO_PROCESS, 0, 10); }

void EndBeforeOthers(int score) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const Fd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return;
  const std::string text = std::to_string(score);
  if (write(file.get(), text.data(), text.size()) < 0) std::perror("oom_score_adj");
}

}  // namespace quotient::os
