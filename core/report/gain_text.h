#pragma once

// Texts about what was gained, for the table and the page. They contain names from the model, so
// the caller must escape them.

#include <string>

#include "core/report/report.h"

namespace quotient::report {

// "conv-scale, conv-bias and 3 more: 12 places": the rules of a gain, the first `most` of them.
std::string RulesText(const RuleGain& gain, size_t most);

// "3 x MatMul -> MatMul, Split": the kernels of one of the regions before and after.
std::string ReplacementText(const RegionGain& region);

// "at layer1.conv", or "first at layer1.conv" if there are several such regions.
std::string SitesText(const RegionGain& region);

// The share of the original's predicted cost, in per cent. 0 if nothing was predicted.
double PercentOfOriginal(const Report& report, double us);

// Whether a saving of `us` is worth a line: a smaller share of the whole reads as 0.0 %.
bool IsWorthListing(const Report& report, double us);
inline constexpr char kOthersText[] = "kernels that both have, in other surroundings";

}  // namespace quotient::report
