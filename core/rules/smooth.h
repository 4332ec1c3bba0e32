#pragma once

// Decides which classes may be rounded in another way.

#include "core/rules/terms.h"

namespace quotient::rules {

// Whether no step (core/domain/steps.h) reads the class, directly or through operators that pass
// last bits. For classes of the original graph this is known from the start. From a class that
// rules made, its readers are followed up to classes of the original graph. Clean graphs only.
bool IsSmooth(const View& view, ClassId id);

}  // namespace quotient::rules
