#include "tests/support/program.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/base/printable.h"

namespace quotient {

bool Complain(const Program& program, absl::string_view what) {
  std::fprintf(stderr, "%s: %s\n", program.name, Printable(what).c_str());
  return false;
}

bool WantsHelp(std::span<const char* const> words) {
  return std::ranges::any_of(
      words, [](absl::string_view word) { return word == "--help" || word == "-h"; });
}

int Help(const Program& program) {
  std::fputs(program.usage, stdout);
  return 0;
}

int RefuseArguments(const Program& program, const absl::Status& status) {
  Complain(program, status.message());
  std::fputs(program.usage, stderr);
  return 2;
}

int ExitStatus(const Program& program, const absl::StatusOr<bool>& ran) {
  if (!ran.ok()) Complain(program, ran.status().message());
  return ran.ok() && *ran ? 0 : 1;
}

}  // namespace quotient
