#pragma once

// Nodes of repeated blocks, which are alike, count together in the table and on the page.

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/report.h"

namespace quotient::report {

// Nodes with the same operator and the same costs before and after.
struct LikeNodes {
  const NodeCost* first = nullptr;  // Borrowed.
  int64_t count = 0;
};

// In the order of the first node of each group.
std::vector<LikeNodes> GroupLikeNodes(const std::vector<const NodeCost*>& nodes);

// " (x 12)"; empty for a single node.
std::string TimesText(const LikeNodes& nodes);

}  // namespace quotient::report
