#include "core/kernels/cuda/prepared_kernel.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/host_kernel.h"
#include "core/kernels/cuda/lower.h"

namespace quotient::kernels::cuda {
namespace {

constexpr int64_t kAlignment = 256;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Kernels that a library compiles when it is asked take up to a second each.
constexpr int kMostCompiled = 2;

// A kernel that wants more besides its operands is not worth it.
constexpr int64_t kMostWorkspace = int64_t{256} << 20;

bool IsStrict(const Launch& launch) {
  if (const auto* problem = std::get_if<MatmulProblem>(&launch.what)) {
    return problem->policy == MathPolicy::kStrict32 && problem->type == model::DType::kFloat32;
  }
  const auto* graph = std::get_if<DnnGraph>(&launch.what);
  if (graph == nullptr || graph->policy != MathPolicy::kStrict32) return false;
  // Nothing but contractions of float32 is ever rounded on the way.
  return std::any_of(graph->nodes.begin(), graph->nodes.end(), [&](const DnnNode& node) {
    const bool contracts = node.op == DnnOp::kConvolution || node.op == DnnOp::kProduct ||
                           node.op == DnnOp::kTransposedConvolution || node.op == DnnOp::kAttention;
    return contracts && graph->tensors[node.inputs[0]].type == model::DType::kFloat32;
  });
}

// The library's plans for a launch that are allowed; one without a name for what is ours.
absl::StatusOr<std::vector<LibraryPlan>> PlansOf(const Launch& launch, Gpu& gpu) {
  std::vector<LibraryPlan> plans;
  if (const auto* problem = std::get_if<MatmulProblem>(&launch.what)) {
    QUOTIENT_ASSIGN_OR_RETURN(plans, gpu.Plans(*problem));
  } else if (const auto* graph = std::get_if<DnnGraph>(&launch.what)) {
    QUOTIENT_ASSIGN_OR_RETURN(plans, gpu.Plans(*graph));
  } else {
    return std::vector<LibraryPlan>(1);
  }
  const bool strict = IsStrict(launch);
  int compiled = 0;
  std::erase_if(plans, [&](const LibraryPlan& plan) {
    if ((strict && plan.tensor_cores) || plan.workspace_bytes > kMostWorkspace) return true;
    return plan.compiled_at_run_time && ++compiled > kMostCompiled;
  });
  return plans;
}

bool IsOfLibrary(const Launch& launch) {
  return std::holds_alternative<MatmulProblem>(launch.what) ||
         std::holds_alternative<DnnGraph>(launch.what);
}

}  // namespace

std::string Way::name() const {
  return library_plan.empty() ? program.name : absl::StrCat(program.name, ":", library_plan);
}

std::optional<Way> WayOf(const Program& program, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, program.name)) return std::nullopt;
  const bool has_library = absl::c_any_of(program.launches, IsOfLibrary);
  if (has_library != absl::ConsumePrefix(&name, ":") || has_library == name.empty()) {
    return std::nullopt;
  }
  return Way{program, std::string(name)};
}

absl::StatusOr<std::vector<Way>> WaysToRun(const KernelSpec& spec, MathPolicy policy, Gpu& gpu,
                                           size_t most) {
  std::vector<Way> ways;
  absl::Status failure;
  for (const Program& program : Lower(spec, policy)) {
    const auto library = absl::c_find_if(program.launches, IsOfLibrary);
    if (library == program.launches.end()) {
      ways.push_back({program, ""});
      continue;
    }
    absl::StatusOr<std::vector<LibraryPlan>> plans = PlansOf(*library, gpu);
    failure.Update(plans.status());
    if (!plans.ok()) continue;
    if (plans->size() > most) plans->resize(most);
    for (const LibraryPlan& plan : *plans) ways.push_back({program, plan.name});
  }
  if (!ways.empty()) return ways;
  if (!failure.ok()) return failure;
  if (std::optional<Program> host = LowerToHost(spec)) ways.push_back({*std::move(host), ""});
  return ways;
}

absl::StatusOr<std::shared_ptr<const PreparedKernel>> PreparedKernel::Create(Way way, Gpu& gpu) {
  std::string name = way.name();
  auto kernel =
      std::shared_ptr<PreparedKernel>(new PreparedKernel(std::move(way.program), std::move(name)));
  for (const Launch& launch : kernel->program_.launches) {
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Launcher> launcher,
                              kernel->Prepare(launch, way.library_plan, gpu));
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
