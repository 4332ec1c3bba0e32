// quotient version, completion: the commands about the program itself.

#include <cstdio>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/completion.h"
#include "core/base/status_macros.h"
#include "core/optimize/optimize.h"

namespace quotient::cli {

absl::Status RunVersion(const Settings& settings, client::Interrupt* /*interrupt*/) {
  const std::string engine(optimize::EngineVersion());
  const char* const format =
      settings.json ? "{\"version\":\"%s\",\"engine\":\"%s\"}\n" : "quotient %s, engine %s\n";
  std::printf(format, QUOTIENT_VERSION, engine.c_str());
  return absl::OkStatus();
}

absl::Status RunCompletion(const Settings& settings, client::Interrupt* /*interrupt*/) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string script, CompletionScript(settings.positional[0]));
  std::fputs(script.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace quotient::cli
