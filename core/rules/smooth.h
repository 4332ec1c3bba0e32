#pragma once

// Which classes may be rounded in another way.

#include "core/rules/terms.h"

namespace quotient::rules {

// Whether no step (core/domain/steps.h) reads the class, at once or through operators that pass
// last bits. Of what the original computes that is known from the start. What rules made is
// followed to what the original computes. Clean graphs only.
bool IsSmooth(const View& view, ClassId id);

}  // namespace quotient::rules
