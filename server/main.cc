// quotientd: reads its flags and its environment, and serves.

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "core/base/log.h"
#include "core/optimize/optimize.h"
#include "core/os/environment.h"
#include "core/os/fault_point.h"
#include "core/os/guarded_main.h"
#include "core/os/openmp_environment.h"
#include "server/config/flags.h"
#include "server/config/log_format.h"
#include "server/ops/metrics_page.h"
#include "server/serve.h"
#include "server/signals.h"

namespace quotient {
namespace {

constexpr int kExitUsage = 2;

int Main(int argc, char** argv) {
  const absl::StatusOr<config::ServerFlags> flags =
      config::ParseFlags({argv + 1, static_cast<size_t>(argc - 1)});
  if (!flags.ok()) {
    std::fprintf(stderr, "quotientd: %s\nTry 'quotientd --help'.\n",
                 std::string(flags.status().message()).c_str());
    return kExitUsage;
  }
  if (flags->help) {
    std::fputs(config::FlagsHelp().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  if (flags->version) {
    std::printf("quotientd %s, engine %s\n", QUOTIENT_VERSION,
                std::string(optimize::EngineVersion()).c_str());
    return EXIT_SUCCESS;
  }
  if (flags->metrics_page) {
    std::fputs(ops::MetricsPage().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  const os::Environment environment = os::ReadEnvironment(environ);
  if (const absl::Status fault = os::ChooseFault(os::ValueOf(environment, os::kFaultVariable));
      !fault.ok()) {
    std::fprintf(stderr, "quotientd: %s\n", std::string(fault.message()).c_str());
    return kExitUsage;
  }
  config::SetLogFormat(flags->log_format);
  Log().set_level(spdlog::level::from_str(flags->log_level));
  Log().flush_on(spdlog::level::info);
  const sigset_t signals = BlockSignals();
  const absl::Status status = Serve(*flags, signals);
  if (status.ok()) return EXIT_SUCCESS;
  Log().critical("{}", std::string(status.message()));
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::os::GuardedMain(
      "quotientd", {.other = EXIT_FAILURE, .out_of_memory = EXIT_FAILURE}, [&] {
        quotient::os::EnsureOpenMpEnvironment(argv, quotient::os::ReadEnvironment(environ));
        return quotient::Main(argc, argv);
      });
}
