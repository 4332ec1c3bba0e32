#pragma once

// Ids used throughout the e-graph.

#include <cstdint>

#include "core/base/ids.h"

namespace quotient::egraph {

using ClassId = StrongId<struct ClassIdTag>;
using ENodeId = StrongId<struct ENodeIdTag>;
// An operator word: an operator with its attributes, interned by the domain's OpTable.
using OpId = StrongId<struct OpIdTag>;
// An operator without its attributes. Patterns are indexed by kind.
using KindId = StrongId<struct KindIdTag>;
// Who made an e-node or a union: 0 is the input, i + 1 is the rule with index i.
using Origin = uint32_t;
inline constexpr Origin kInputOrigin = 0;
// Origin of a union that follows from congruence alone.
inline constexpr Origin kCongruence = 0xffffffffu;
// Origin of what the analysis adds, such as the constant that an e-node folds to.
inline constexpr Origin kAnalysis = 0xfffffffeu;

}  // namespace quotient::egraph
