#pragma once

// Near misses: what kept a rule from having a match in graphs that were made for it.

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/prove/certificate.h"

namespace quotient::prove {

// One line that says why the rule has no match in any of the graphs, which have inferred types: the
// guards that refuse where the left side is there, each with the number of graphs, or else what is
// missing where most of the left side is there. At most 60 graphs are searched. Fails as Certify
// does.
absl::StatusOr<std::string> WhyNoMatch(const RuleMaker& make_rule,
                                       std::span<const model::Graph> graphs);

}  // namespace quotient::prove
