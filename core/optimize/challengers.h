#pragma once

// Challengers: the candidates that are worth checking. A check takes long, so it is made neither of
// candidates that would never be taken nor of more than can be run.

#include <cstddef>
#include <vector>

#include "core/optimize/baseline.h"
#include "core/optimize/job.h"
#include "core/optimize/package.h"
#include "core/optimize/verified.h"
#include "core/verify/checker.h"

namespace quotient::optimize {

// The candidates that could be taken if they agree with the original; of those, if the budget is
// exceeded, only the ones that are predicted to gain.
std::vector<Packaged> ChooseChallengers(const Job& job, const Baseline& baseline,
                                        std::vector<Packaged> candidates);

// The number of agreeing candidates that is enough, given the time that is left now.
size_t MostToCheck(const Job& job, const Baseline& baseline);

// Compares challengers with the original until `most` agree. A challenger that takes the same time
// as one that agrees is passed over, so it is compared only if that one was refused.
Compared CompareChallengers(const Job& job, const Baseline& baseline,
                            std::vector<Packaged> challengers, size_t most,
                            verify::Checker& checker);

}  // namespace quotient::optimize
