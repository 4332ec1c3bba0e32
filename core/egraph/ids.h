#pragma once

// The ids of the e-graph.

#include <cstdint>

#include "core/base/ids.h"

namespace quotient::egraph {

using ClassId = StrongId<struct ClassIdTag>;
using ENodeId = StrongId<struct ENodeIdTag>;
// An operator word: operator and attributes, interned by the domain's OpTable.
using OpId = StrongId<struct OpIdTag>;
// An operator without its attributes; what patterns are bucketed by.
using KindId = StrongId<struct KindIdTag>;
// Who made an e-node or a union: 0 is the input, others are rules (index + 1).
using Origin = uint32_t;
inline constexpr Origin kInputOrigin = 0;
// A union that follows from congruence alone.
inline constexpr Origin kCongruence = 0xffffffffu;
// One that the analysis made, as of what folds with its value.
inline constexpr Origin kAnalysis = 0xfffffffeu;

}  // namespace quotient::egraph
