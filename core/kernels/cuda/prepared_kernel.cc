#include "core/kernels/cuda/prepared_kernel.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/kernels/alignment.h"
#include "core/kernels/cuda/host_kernel.h"
#include "core/kernels/cuda/lower.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kPlanSeparator[] = "&";  // Occurs in no library's plans.

// Maximum number of plans to try that the library compiles on request, because each takes up to a
// second.
constexpr int kMostCompiled = 2;

// A kernel that needs more additional memory is not worth it.
constexpr int64_t kMostWorkspace = int64_t{256} << 20;

// The library's plans for one launch that are worth trying.
absl::StatusOr<std::vector<LibraryPlan>> PlansOf(const Launch& launch, Gpu& gpu) {
  std::vector<LibraryPlan> plans;
  if (const auto* problem = std::get_if<MatmulProblem>(&launch.what)) {
    QUOTIENT_ASSIGN_OR_RETURN(plans, gpu.Plans(*problem));
  } else if (const auto* graph = std::get_if<DnnGraph>(&launch.what)) {
    QUOTIENT_ASSIGN_OR_RETURN(plans, gpu.Plans(*graph));
  }
  int compiled = 0;
  std::erase_if(plans, [&](const LibraryPlan& plan) {
    if (plan.workspace_bytes > kMostWorkspace) return true;
    return plan.compiled_at_run_time && ++compiled > kMostCompiled;
  });
  return plans;
}

bool IsOfLibrary(const Launch& launch) {
  return std::holds_alternative<MatmulProblem>(launch.what) ||
         std::holds_alternative<DnnGraph>(launch.what);
}

// The combinations of one plan for each launch, first choices first; at most `most`.
std::vector<std::vector<std::string>> Combinations(
    const std::vector<std::vector<LibraryPlan>>& plans, size_t most) {
  struct Combination {
    size_t rank = 0;  // The sum of the plans' positions.
    std::vector<std::string> names;
  };
  std::vector<Combination> all(1);
  for (const std::vector<LibraryPlan>& of_launch : plans) {
    std::vector<Combination> longer;
    for (const Combination& shorter : all) {
      for (size_t i = 0; i < of_launch.size(); ++i) {
        longer.push_back({shorter.rank + i, shorter.names});
        longer.back().names.push_back(of_launch[i].name);
      }
    }
    absl::c_stable_sort(longer, [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (longer.size() > most) longer.resize(most);
    all = std::move(longer);
  }
  std::vector<std::vector<std::string>> names;
  for (Combination& combination : all) names.push_back(std::move(combination.names));
  return names;
}

// The plans for each launch of a library.
absl::StatusOr<std::vector<std::vector<LibraryPlan>>> PlansOf(const Program& program, Gpu& gpu) {
  std::vector<std::vector<LibraryPlan>> plans;
  for (const Launch& launch : program.launches) {
    if (!IsOfLibrary(launch)) continue;
    QUOTIENT_ASSIGN_OR_RETURN(plans.emplace_back(), PlansOf(launch, gpu));
  }
  return plans;
}

}  // namespace

std::string Way::name() const {
  if (library_plans.empty()) return program.name;
  return absl::StrCat(program.name, ":", absl::StrJoin(library_plans, kPlanSeparator));
}

std::optional<Way> WayOf(const Program& program, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, program.name)) return std::nullopt;
  const auto launches = absl::c_count_if(program.launches, IsOfLibrary);
  if (launches == 0) return name.empty() ? std::optional(Way{program, {}}) : std::nullopt;
  if (!absl::ConsumePrefix(&name, ":")) return std::nullopt;
  Way way{program, absl::StrSplit(name, kPlanSeparator)};
  const bool is_whole = std::ssize(way.library_plans) == launches &&
                        absl::c_none_of(way.library_plans, [](const auto& p) { return p.empty(); });
  return is_whole ? std::optional(std::move(way)) : std::nullopt;
}

absl::StatusOr<Ways> WaysToRun(const KernelSpec& spec, MathPolicy policy, Gpu& gpu, size_t most) {
  Ways ways;
  for (const Program& program : Lower(spec, policy)) {
    const auto plans = PlansOf(program, gpu);
    ways.failure.Update(plans.status());
    if (!plans.ok()) continue;
    for (std::vector<std::string>& names : Combinations(*plans, most)) {
      ways.list.push_back({program, std::move(names)});
    }
  }
  if (!ways.list.empty()) return ways;
  if (!ways.failure.ok()) return ways.failure;
  if (std::optional<Program> host = LowerToHost(spec)) ways.list.push_back({*std::move(host), {}});
  return ways;
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> PreparedKernel::Create(Way way, Gpu& gpu) {
  std::string name = way.name();
  auto kernel =
      std::shared_ptr<PreparedKernel>(new PreparedKernel(std::move(way.program), std::move(name)));
  size_t next = 0;
  for (const Launch& launch : kernel->program_.launches) {
    const std::string plan = IsOfLibrary(launch) ? way.library_plans.at(next++) : "";
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Launcher> launcher,
                              kernel->Prepare(launch, plan, gpu));
    kernel->launchers_.push_back(std::move(launcher));
  }
  kernel->PlaceTemporaries();
  return kernel;
}

absl::StatusOr<std::unique_ptr<Launcher>> PreparedKernel::Prepare(const Launch& launch,
                                                                  const std::string& library_plan,
                                                                  Gpu& gpu) {
  if (const auto* source = std::get_if<SourceKernel>(&launch.what)) return gpu.Prepare(*source);
  if (const auto* problem = std::get_if<MatmulProblem>(&launch.what)) {
    return gpu.Prepare(*problem, library_plan);
  }
  if (const auto* graph = std::get_if<DnnGraph>(&launch.what)) {
    return gpu.Prepare(*graph, library_plan);
  }
  uses_host_ = true;
  QUOTIENT_ASSIGN_OR_RETURN(HostCall call, MakeHostCall(std::get<HostKernel>(launch.what).spec));
  return gpu.Prepare(std::move(call));
}

void PreparedKernel::PlaceTemporaries() {
  int64_t offset = 0;
  for (const int64_t bytes : program_.temporaries) {
    offsets_.push_back(offset);
    offset += Aligned(bytes);
  }
  library_offset_ = offset;
  int64_t library_bytes = 0;
  for (const auto& launcher : launchers_) {
    library_bytes = std::max(library_bytes, launcher->workspace_bytes());
  }
  workspace_bytes_ = offset + Aligned(library_bytes);
}

void PreparedKernel::AppendSteps(const Bindings& bindings, std::vector<Step>* steps) const {
  for (size_t i = 0; i < launchers_.size(); ++i) {
    Step step;
    step.launcher = launchers_[i].get();
    for (const BufferRef& ref : program_.launches[i].buffers) {
      step.buffers.push_back(Resolve(ref, bindings));
    }
    step.workspace = bindings.workspace + static_cast<DeviceAddress>(library_offset_);
    steps->push_back(std::move(step));
  }
}

DeviceAddress PreparedKernel::Resolve(const BufferRef& ref, const Bindings& bindings) const {
  switch (ref.kind) {
    case BufferRef::Kind::kOperand:
      return bindings.operands[ref.index];
    case BufferRef::Kind::kConstant:
      return bindings.constants[ref.index];
    case BufferRef::Kind::kOutput:
      return bindings.outputs[ref.index];
    case BufferRef::Kind::kTemporary:
      return bindings.workspace + static_cast<DeviceAddress>(offsets_[ref.index]);
  }
  return 0;
}

}  // namespace quotient::kernels::cuda
