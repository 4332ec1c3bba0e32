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

report::Verification VerificationOf(const verify::Checker& checker,
                                    const verify::Verdict& verdict) {
  report::Verification verification = {verdict.passed, verdict.max_relative_error,
                                       verdict.tolerance, verdict.inputs};
  for (const verify::CheckedBinding& binding : checker.bindings()) {
    verification.bindings.push_back(
        {binding.shapes, std::string(verify::ToString(binding.kind)), binding.nodes, binding.cut});
  }
  verification.bindings_note = checker.note();
  return verification;
}

Compared Compare(verify::Checker& checker, std::vector<Packaged> candidates, size_t most,
                 const StopCondition& enough, const StopCondition& stop,
                 const IsNeedless& is_needless) {
  Compared compared;
  for (Packaged& candidate : candidates) {
    if (compared.agreeing.size() == most) break;
    if (!compared.agreeing.empty() && enough.ShouldStop()) break;
    if (is_needless && is_needless(candidate, compared.agreeing)) continue;
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

void AddNew(std::vector<Verified> more, size_t most, std::vector<Verified>* candidates) {
  for (Verified& candidate : more) {
    const bool is_known = std::ranges::any_of(*candidates, [&](const Verified& other) {
      return other.packaged.written->model.bytes == candidate.packaged.written->model.bytes;
    });
    if (!is_known) candidates->push_back(std::move(candidate));
  }
  if (candidates->size() <= most) return;
  std::ranges::stable_sort(
      *candidates, {}, [](const Verified& candidate) { return candidate.packaged.cost.total_us; });
  candidates->erase(candidates->begin() + static_cast<long>(most), candidates->end());
}

}  // namespace quotient::optimize
