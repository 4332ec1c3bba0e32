#include "core/optimize/optimize.h"

namespace quotient::optimize {

absl::string_view EngineVersion() { return "0.3.0"; }

}  // namespace quotient::optimize
