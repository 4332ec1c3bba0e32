#include "core/os/openmp_environment.h"

#include <stdlib.h>
#include <unistd.h>

namespace quotient::os {
namespace {

struct Variable {
  const char* name;
  const char* value;
};

constexpr Variable kVariables[] = {
    // Threads wait for each other by spinning for some tens of microseconds, then sleep: sleeping
    // at once triples the time of small kernels, spinning for long starves whoever else runs here.
    {"GOMP_SPINCOUNT", "20000"},
    // As many threads as asked for, whatever the load: the count is part of a timing's key.
    {"OMP_DYNAMIC", "false"},
};

}  // namespace

void EnsureOpenMpEnvironment(char** argv, const Environment& environment) {
  bool complete = true;
  for (const Variable& variable : kVariables) {
    if (environment.contains(variable.name)) continue;
    complete = false;
    setenv(variable.name, variable.value, /*overwrite=*/0);
  }
  // If the exec fails, the program still works, with worse waiting.
  if (!complete) execv("/proc/self/exe", argv);
}

}  // namespace quotient::os
