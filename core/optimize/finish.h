#pragma once

// The end of a run: chooses the files that are returned, and completes the report.

#include <optional>

#include "core/cost/cost_model.h"
#include "core/optimize/baseline.h"
#include "core/optimize/decide.h"
#include "core/optimize/job.h"
#include "core/optimize/optimize.h"
#include "core/optimize/package.h"
#include "core/optimize/verified.h"
#include "core/report/report.h"

namespace quotient::optimize {

// Returns the files of the winner, which are in `delivery`, or the original if there are none.
// `checker` is what the winner was checked with; it may be null if there is no delivery. `report`
// has what earlier stages told; the rest is added.
Result Finish(const Job& job, const Baseline& baseline, const OriginalChecker* checker,
              Decision decision, std::optional<Delivery> delivery, report::Report report);

// Delivers the original of a model that cannot be optimized. Report::passed_through says why.
// `model` and `cost` are what is known of it.
Result FinishUntouched(const Job& job, Device& device, const onnx::Model& model,
                       const cost::GraphCost& cost, report::Report report);

}  // namespace quotient::optimize
