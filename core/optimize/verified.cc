#include "core/optimize/verified.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"
#include "core/eval/stop_error.h"
#include "core/optimize/prepared.h"

namespace quotient::optimize {

absl::StatusOr<std::shared_ptr<OriginalChecker>> NewOriginalChecker(const Job& job,
                                                                    const Original& original) {
  const Prepared& prepared = original.prepared;
  const Options& options = job.options;
  auto checker = std::make_shared<OriginalChecker>();
  checker->as_read = AsRead(prepared, options.shapes);
  QUOTIENT_ASSIGN_OR_RETURN(
      checker->checker,
      verify::Checker::Create(
          {&checker->as_read, &prepared.cut}, prepared.shapes.shapes,
          {options.verify_inputs, options.seed, job.threads, options.assume_finite_inputs},
          job.stop));
  return checker;
}

Compared Compare(verify::Checker& checker, std::vector<Packaged> candidates, size_t most,
                 const StopCondition& stop) {
  Compared compared;
  for (Packaged& candidate : candidates) {
    if (compared.agreeing.size() == most) break;
    absl::StatusOr<verify::Verdict> verdict =
        checker.Check({&candidate.prepared.model.graph, &candidate.prepared.cut}, stop);
    if (!verdict.ok() && stop.ShouldStop()) {
      compared.stopped = eval::StopError(stop.Check());
      break;
    }
    if (!verdict.ok()) {
      compared.refused.push_back({std::move(candidate), std::string(verdict.status().message())});
    } else if (!verdict->passed) {
      compared.refused.push_back(
          {std::move(candidate), std::move(verdict->failure), verdict->breaks_names});
    } else {
      compared.agreeing.push_back({std::move(candidate), *std::move(verdict)});
    }
  }
  return compared;
}

void AddIfNew(Verified candidate, int most, std::vector<Verified>* candidates) {
  const bool known = std::ranges::any_of(*candidates, [&](const Verified& other) {
    return other.packaged.written->model.bytes == candidate.packaged.written->model.bytes;
  });
  const bool fits = candidates->size() < static_cast<size_t>(most);
  if (!known && fits) candidates->push_back(std::move(candidate));
}

}  // namespace quotient::optimize
