#pragma once

// Graphs of the left side of a rule that has no cases: operators as the rule has them, and for its
// variables inputs and constants of random types. Most draws are no graphs, because the types do
// not fit each other, so one draws often.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/egraph/pattern_text.h"
#include "core/model/attribute.h"
#include "core/model/graph.h"

namespace quotient::prove {

// By operator, attributes that it may have.
using AttributeChoices = std::map<std::string, std::vector<model::AttributeMap>>;

// Those that operators have in the graphs, and those of generate::AttributesToTry.
AttributeChoices AttributesIn(std::span<const model::Graph> graphs);

// Draws a graph whose nodes are the left side, its types inferred and all static, and its outputs
// the roots. Guards are read as hints alone: what `is(?c, 0.5)` asks about is mostly a constant of
// that number, so a match is likely but not certain. Nullopt if type inference refuses the draw, or
// the left side is of a form that no graph has (two operators that are one value).
std::optional<model::Graph> DrawLeft(const egraph::RuleText& rule, const AttributeChoices& choices,
                                     Rng& rng);

}  // namespace quotient::prove
