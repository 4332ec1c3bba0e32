#pragma once

// Our own rules by name.

#include <string>

#include "core/prove/certificate.h"

namespace quotient::prove {

// Makes the rule of this name, with the set of its family, which owns it. NOT_FOUND if there is no
// such rule.
RuleMaker MakerOf(const std::string& name);

}  // namespace quotient::prove
