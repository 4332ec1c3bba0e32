#include "core/os/environment.h"

namespace quotient::os {

Environment ReadEnvironment(const char* const* variables) {
  Environment environment;
  for (; *variables != nullptr; ++variables) {
    const absl::string_view text = *variables;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    // emplace keeps the first of two entries with one name, as getenv does.
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::string ValueOf(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

}  // namespace quotient::os
