#include "core/kernels/cuda/plugin/cudnn.h"

#include <cudnn_frontend.h>
#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/interface/plugin.h"
#include "core/kernels/cuda/plugin/cudnn_plan_name.h"
#include "core/kernels/cuda/plugin/cudnn_status.h"
#include "core/kernels/cuda/plugin/frontend_graph.h"
#include "core/kernels/cuda/plugin/no_throw.h"

namespace quotient::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
constexpr int kOldestCudnn = 91100;  // The first that takes a device's properties as JSON.

absl::StatusOr<EngineChoice> ChoiceOf(const fe::ManagedOpaqueDescriptor& configuration) {
  EngineChoice choice;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
  QUOTIENT_RETURN_IF_ERROR(
      CudnnStatus(fe::detail::get_engine_id_and_knobs(configuration, choice.engine, knobs),
                  "cudnnBackendGetAttribute"));
  choice.knobs.insert(knobs.begin(), knobs.end());
  return choice;
}

bool HasProduct(const DnnGraph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const DnnNode& node) { return node.op == DnnOp::kProduct; });
}

absl::StatusOr<LibraryPlan> DescribePlan(const FrontendGraph& graph, int64_t index,
                                         fe::ManagedOpaqueDescriptor configuration,
                                         bool multiplies_float32, bool has_product) {
  LibraryPlan plan;
  QUOTIENT_ASSIGN_OR_RETURN(const EngineChoice choice, ChoiceOf(configuration));
  plan.name = PlanName(choice);
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(
      fe::detail::get_workspace_size(configuration, plan.workspace_bytes), "plan's workspace"));
  // Pointwise chains and reductions carry the note, too, but round nothing. A product has a plan
  // without the note that rounds all the same (9.14 on an H200).
  using Note = fe::NumericalNote_t;
  plan.tensor_cores =
      multiplies_float32 && (has_product || graph.HasNote(index, Note::TENSOR_CORE) ||
                             graph.HasNote(index, Note::DOWN_CONVERT_INPUTS) ||
                             graph.HasNote(index, Note::REDUCED_PRECISION_REDUCTION));
  plan.compiled_at_run_time = graph.HasNote(index, fe::BehaviorNote_t::RUNTIME_COMPILATION);
  return plan;
}

std::string CacheKey(const DnnGraph& graph, const std::string& plan, const CudnnTarget& target) {
  return absl::StrCat("cuDNN ", CudnnVersion(), ", frontend ", CUDNN_FRONTEND_VERSION,
                      ", translation ", kTranslation, "\n", target.device, "\n", ToString(graph),
                      "\n", plan);
}

// If there is no text, the next process builds the plan again.
void Keep(const FrontendGraph& built, const std::string& key, CodeCache* cache) {
  const auto text = NoThrow([&]() -> absl::StatusOr<std::string> { return built.PlanText(); });
  if (text.ok()) cache->Add(key, *text);
}

// Builds the plan of that name, at index 0, without asking the heuristics again. Plans whose code
// cuDNN compiles are kept; the others take no time.
absl::StatusOr<std::unique_ptr<FrontendGraph>> BuildGraph(const DnnGraph& graph,
                                                          const std::string& plan,
                                                          const CudnnTarget& target) {
  QUOTIENT_ASSIGN_OR_RETURN(const EngineChoice choice, ParsePlanName(plan));
  QUOTIENT_ASSIGN_OR_RETURN(auto translated, Translate(graph, target));
  std::string key;
  if (target.cache != nullptr) {
    key = CacheKey(graph, plan, target);
    const std::optional<std::string> kept = target.cache->Find(key);
    if (kept.has_value() && translated->LoadPlan(*kept, target).ok()) return translated;
  }
  QUOTIENT_RETURN_IF_ERROR(translated->AddConfiguration(choice.engine, choice.knobs));
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(translated->build_plan_at_index(0), plan));
  if (target.cache != nullptr && translated->HasNote(0, fe::BehaviorNote_t::RUNTIME_COMPILATION)) {
    Keep(*translated, key, target.cache);
  }
  return translated;
}

class FrontendPlan : public CudnnPlan {
 public:
  explicit FrontendPlan(std::unique_ptr<FrontendGraph> built) : built_(std::move(built)) {}

  absl::StatusOr<int64_t> WorkspaceBytes() const override {
    int64_t bytes = 0;
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(built_->get_workspace_size_plan_at_index(0, bytes), "plan's workspace"));
    return bytes;
  }

  absl::Status Execute(cudnnHandle_t handle, std::span<void*> buffers,
                       void* workspace) const override {
    const fe::error_t error = built_->execute_plan_at_index(
        handle, buffers.data(), static_cast<int>(buffers.size()), workspace, /*plan_index=*/0);
    if (error.is_good()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("cuDNN: execution: ", error.err_msg));
  }

 private:
  const std::unique_ptr<FrontendGraph> built_;
};

}  // namespace

int CudnnVersion() { return static_cast<int>(cudnnGetVersion()); }

int CudaVersionOfCudnn() { return static_cast<int>(cudnnGetCudartVersion()); }

absl::Status CheckCudnn() {
  if (CudnnVersion() < kOldestCudnn) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat("cuDNN is too old: ", CudnnVersion(), ", and ", kOldestCudnn,
                                  " (9.11) or newer is needed"));
  }
  // That of another CUDA has the same file name.
  if (CudaVersionOfCudnn() / 1000 != CUDART_VERSION / 1000) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat(kSymbolMissing, "the cuDNN that was found is made for CUDA ",
                                  CudaVersionOfCudnn(), ", and the plug-in for ", CUDART_VERSION));
  }
  // cuDNN opens these when it needs them. Without them it finds no plans, but reports no error.
  for (const char* part : {"libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9",
                           "libcudnn_engines_runtime_compiled.so.9"}) {
    if (dlopen(part, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
      return MakeError(Reason::kDeviceNotPresent, absl::StrCat(kLibraryMissing, dlerror()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DescribeDevice(int ordinal) {
  fe::DeviceProperties properties;
  QUOTIENT_RETURN_IF_ERROR(
      DnnStatus(properties.set_device_id(ordinal).build(), "device properties"));
  std::vector<uint8_t> bytes;
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(properties.serialize(bytes), "device properties"));
  while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
  return std::string(bytes.begin(), bytes.end());
}

absl::StatusOr<CudnnDescription> ParseDescription(const std::string& properties_json) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  const std::vector<uint8_t> bytes(properties_json.begin(), properties_json.end());
  if (const fe::error_t error = properties->deserialize(bytes); error.is_bad()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cuDNN: a device's properties: ", error.err_msg));
  }
  return properties;
}

absl::StatusOr<std::vector<LibraryPlan>> FindPlans(const DnnGraph& graph,
                                                   const CudnnTarget& target) {
  const auto translated = Translate(graph, target);
  if (absl::IsUnimplemented(translated.status())) return std::vector<LibraryPlan>();
  QUOTIENT_RETURN_IF_ERROR(translated.status());
  FrontendGraph& frontend = **translated;
  const absl::Status asked = DnnStatus(
      frontend.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}), "heuristics");
  // This status also means that there is no configuration at all.
  if (absl::IsUnimplemented(asked)) return std::vector<LibraryPlan>();
  QUOTIENT_RETURN_IF_ERROR(asked);
  const bool multiplies = MultipliesFloat32(graph), has_product = HasProduct(graph);
  const fe::EngineConfigList configurations = frontend.Configurations();
  std::vector<LibraryPlan> plans;
  for (size_t i = 0; i < configurations.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(LibraryPlan plan,
                              DescribePlan(frontend, static_cast<int64_t>(i), configurations[i],
                                           multiplies, has_product));
    if (plan.tensor_cores && graph.policy == MathPolicy::kStrict32) continue;
    // The fallback list repeats some of the others.
    const auto same = [&plan](const LibraryPlan& other) { return other.name == plan.name; };
    if (std::none_of(plans.begin(), plans.end(), same)) plans.push_back(std::move(plan));
  }
  return plans;
}

absl::StatusOr<std::unique_ptr<CudnnPlan>> BuildPlan(const DnnGraph& graph, const std::string& plan,
                                                     const CudnnTarget& target) {
  QUOTIENT_ASSIGN_OR_RETURN(auto built, BuildGraph(graph, plan, target));
  return std::make_unique<FrontendPlan>(std::move(built));
}

}  // namespace quotient::kernels::cuda
