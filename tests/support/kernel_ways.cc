#include "tests/support/kernel_ways.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/kernels/attention.h"
#include "core/kernels/fusion.h"
#include "core/kernels/partition.h"

namespace quotient {
namespace {

constexpr char kHost[] = "host";

bool Multiplies(const kernels::KernelSpec& spec) {
  return kernels::IsContraction(spec.op) || spec.op == kernels::kAttentionOp;
}

}  // namespace

std::string ProgramOf(absl::string_view plan) {
  const std::string program(plan.substr(0, plan.find(':')));
  return program.empty() ? "first choice" : program;
}

std::string KernelWays::Text() const {
  std::vector<std::string> parts;
  for (const auto& [program, count] : counts) parts.push_back(absl::StrCat(count, " ", program));
  if (without_time > 0) parts.push_back(absl::StrCat(without_time, " without a time"));
  std::string text = absl::StrJoin(parts, ", ");
  if (!contractions_on_host.empty()) {
    absl::StrAppend(&text, "; on the host: ", absl::StrJoin(contractions_on_host, ", "));
  }
  return text;
}

absl::StatusOr<KernelWays> WaysOf(const model::Graph& graph, const kernels::Backend& backend,
                                  const timing::TimingService& timings) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<kernels::KernelGroup> groups,
                            kernels::PartitionGraph(graph, backend.partition()));
  KernelWays ways;
  for (const kernels::KernelGroup& group : groups) {
    if (group.spec.free) continue;
    const std::optional<timing::Timing> timing = timings.Find(group.spec);
    if (!timing.has_value() || !timing->has_time()) {
      ++ways.without_time;
      continue;
    }
    const std::string program = ProgramOf(timing->plan);
    ++ways.counts[program];
    ways.predicted_us += timing->min_us;
    if (program == kHost && Multiplies(group.spec)) {
      ways.contractions_on_host.push_back(group.spec.op);
    }
  }
  return ways;
}

}  // namespace quotient
