#include "server/signals.h"

#include "core/base/log.h"

namespace quotient {

sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

int WaitForSignal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
  // A second signal kills the process: its sender does not want to wait for the drain.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  Log().info("signal {}: draining", number);
  return number;
}

}  // namespace quotient
