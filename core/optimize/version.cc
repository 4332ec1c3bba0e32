#include "core/optimize/optimize.h"

namespace quotient::optimize {

absl::string_view EngineVersion() { return "0.2.0"; }

}  // namespace quotient::optimize
