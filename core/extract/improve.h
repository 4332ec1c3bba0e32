#pragma once

#include "core/base/stop.h"
#include "core/extract/choice.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// The best choice that local search finds, block by block (blocks.h) and from several starts;
// `known` if that is better.
Choice Improve(const Instance& instance, Choice known, const StopCondition& stop);

}  // namespace quotient::extract
