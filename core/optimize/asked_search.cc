#include "core/optimize/asked_search.h"

#include "absl/strings/str_cat.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"

namespace quotient::optimize {

absl::StatusOr<std::unique_ptr<Beginning>> Begin(const Job& job, const EndedSearch& search,
                                                 bool assume_finite_inputs) {
  auto made = std::make_unique<Beginning>();
  QUOTIENT_ASSIGN_OR_RETURN(
      made->tensors,
      domain::FromGraph(search.prepared.graph, search.prepared.measured, assume_finite_inputs));
  QUOTIENT_ASSIGN_OR_RETURN(made->rules, rules::BuildRules(made->tensors.domain.get(),
                                                           search.max_opset, {}, job.families));
  return made;
}

std::string HowItEnded(const Job& job, const EndedSearch& search) {
  return absl::StrCat("the search ended by ", search.figures.stop_reason, ", with ",
                      Counted(search.figures.enodes, "e-node"), " (--max-nodes ",
                      job.options.max_nodes, ")");
}

}  // namespace quotient::optimize
