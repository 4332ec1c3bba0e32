#include "core/os/child_setup.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "core/os/files.h"

namespace quotient::os {

void IgnoreRequestsToEnd() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
}

void EndBeforeOthers(int score) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const Fd file(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return;
  const std::string text = std::to_string(score);
  if (write(file.get(), text.data(), text.size()) < 0) std::perror("oom_score_adj");
}

}  // namespace quotient::os
