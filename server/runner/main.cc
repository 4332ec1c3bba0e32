// quotient-job: runs one job, or describes one model, in a process of its own, since a model that
// nobody has looked at may crash it, hang it or take too much memory. Started by quotientd, with
// the socket of runner.proto as descriptor 3.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "core/os/child_process.h"
#include "core/os/child_setup.h"
#include "core/os/environment.h"
#include "core/os/fault_point.h"
#include "core/os/guarded_main.h"
#include "core/os/message_channel.h"
#include "core/os/openmp_environment.h"
#include "server/runner/protocol.h"
#include "server/runner/serve.h"

namespace quotient::runner {
namespace {

// Of os::EndBeforeOthers: before the server, and after a helper that this process has started.
constexpr int kScore = 500;

int Main(const os::Environment& environment) {
  if (fcntl(os::kChildSocket, F_GETFD) < 0) {
    std::fputs("quotient-job is started by quotientd alone\n", stderr);
    return 2;
  }
  if (const absl::Status fault = os::ChooseFault(os::ValueOf(environment, os::kFaultVariable));
      !fault.ok()) {
    std::fprintf(stderr, "quotient-job: %s\n", std::string(fault.message()).c_str());
    return EXIT_FAILURE;
  }
  os::EndWithStarter();
  os::BlockRequestsToEnd();
  os::EndBeforeOthers(kScore);
  return Serve(*new os::MessageChannel(os::Fd(os::kChildSocket), kMostMessageBytes));
}

}  // namespace
}  // namespace quotient::runner

int main(int /*argc*/, char** argv) {
  using quotient::runner::kExitOutOfMemory;
  return quotient::os::GuardedMain(
      "quotient-job", {.other = EXIT_FAILURE, .out_of_memory = kExitOutOfMemory}, [&] {
        const quotient::os::Environment environment = quotient::os::ReadEnvironment(environ);
        quotient::os::EnsureOpenMpEnvironment(argv, environment);
        return quotient::runner::Main(environment);
      });
}
