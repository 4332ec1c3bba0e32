#include "core/os/random_id.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace quotient::os {

std::string RandomId() {
  char bytes[10];
  // So few bytes are never cut short; without a kernel's randomness nothing here is safe to run.
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) std::abort();
  return absl::BytesToHexString(absl::string_view(bytes, sizeof(bytes)));
}

}  // namespace quotient::os
