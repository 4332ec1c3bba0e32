#include "core/kernels/cuda/plugin/cudnn.h"

#include <cudnn_frontend.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/launcher.h"
#include "core/kernels/cuda/plugin/no_throw.h"

namespace quotient::kernels::cuda {

int CudnnVersion() { return static_cast<int>(cudnnGetVersion()); }

namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

// Of what Translator makes of a graph: plans that are kept know tensors by their ids.
constexpr int kTranslation = 1;
constexpr int kOldestCudnn = 91100;  // the first that takes a device's properties as JSON

absl::Status DnnStatus(const fe::error_t& error, absl::string_view what) {
  if (error.is_good()) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": ", error.err_msg);
  // A device that fails, or has no memory left, says nothing of what cuDNN has.
  const bool failed = error.code == fe::error_code_t::CUDA_API_FAILED ||
                      error.code == fe::error_code_t::INVALID_CUDA_DEVICE ||
                      error.code == fe::error_code_t::HANDLE_ERROR;
  return failed ? absl::InternalError(message) : absl::UnimplementedError(message);
}

absl::Status DnnStatus(cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": ", cudnnGetErrorString(status));
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

// --- cudnn_frontend's words for ours ---

absl::StatusOr<fe::DataType_t> DataType(model::DType type) {
  switch (type) {
    case model::DType::kFloat32:
      return fe::DataType_t::FLOAT;
    case model::DType::kFloat16:
      return fe::DataType_t::HALF;
    case model::DType::kBfloat16:
      return fe::DataType_t::BFLOAT16;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("cuDNN: a tensor of ", std::string(model::DTypeName(type))));
  }
}

absl::StatusOr<fe::PointwiseMode_t> PointwiseMode(DnnMode mode) {
  using Mode = fe::PointwiseMode_t;
  static const auto& modes = *new std::map<DnnMode, Mode>{
      {DnnMode::kIdentity, Mode::IDENTITY},
      {DnnMode::kAdd, Mode::ADD},
      {DnnMode::kSub, Mode::SUB},
      {DnnMode::kMul, Mode::MUL},
      {DnnMode::kDiv, Mode::DIV},
      {DnnMode::kMax, Mode::MAX},
      {DnnMode::kMin, Mode::MIN},
      {DnnMode::kPow, Mode::POW},
      {DnnMode::kRelu, Mode::RELU_FWD},
      {DnnMode::kClippedRelu, Mode::RELU_FWD},
      {DnnMode::kSigmoid, Mode::SIGMOID_FWD},
      {DnnMode::kTanh, Mode::TANH_FWD},
      {DnnMode::kGeluErf, Mode::GELU_FWD},
      {DnnMode::kGeluTanh, Mode::GELU_APPROX_TANH_FWD},
      {DnnMode::kSwish, Mode::SWISH_FWD},
      {DnnMode::kElu, Mode::ELU_FWD},
      {DnnMode::kExp, Mode::EXP},
      {DnnMode::kLog, Mode::LOG},
      {DnnMode::kSqrt, Mode::SQRT},
      {DnnMode::kRsqrt, Mode::RSQRT},
      {DnnMode::kNeg, Mode::NEG},
      {DnnMode::kAbs, Mode::ABS},
      {DnnMode::kErf, Mode::ERF},
      {DnnMode::kSin, Mode::SIN},
      {DnnMode::kCos, Mode::COS},
      {DnnMode::kFloor, Mode::FLOOR},
      {DnnMode::kCeil, Mode::CEIL},
      {DnnMode::kReciprocal, Mode::RECIPROCAL},
  };
  const auto found = modes.find(mode);
  if (found == modes.end()) return absl::InvalidArgumentError("cuDNN: no such pointwise mode");
  return found->second;
}

absl::StatusOr<fe::ReductionMode_t> ReductionMode(DnnMode mode) {
  switch (mode) {
    case DnnMode::kReduceSum:
      return fe::ReductionMode_t::ADD;
    case DnnMode::kReduceMean:
      return fe::ReductionMode_t::AVG;
    case DnnMode::kReduceMax:
      return fe::ReductionMode_t::MAX;
    case DnnMode::kReduceMin:
      return fe::ReductionMode_t::MIN;
    case DnnMode::kReduceProd:
      return fe::ReductionMode_t::MUL;
    default:
      return absl::InvalidArgumentError("cuDNN: no such reduction mode");
  }
}

absl::StatusOr<fe::ResampleMode_t> PoolMode(DnnMode mode) {
  switch (mode) {
    case DnnMode::kMaxPool:
      return fe::ResampleMode_t::MAXPOOL;
    case DnnMode::kAveragePoolWithPadding:
      return fe::ResampleMode_t::AVGPOOL_INCLUDE_PADDING;
    case DnnMode::kAveragePoolWithoutPadding:
      return fe::ResampleMode_t::AVGPOOL_EXCLUDE_PADDING;
    default:
      return absl::InvalidArgumentError("cuDNN: no such pooling mode");
  }
}

// Whom to ask: a device by its handle, or a description of one.
struct Target {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const fe::DeviceProperties> properties;
  int compute_capability = 0;
  CodeCache* cache = nullptr;  // may be null
  std::string device;          // in the cache's keys
};

// --- our graph as one of cudnn_frontend ---

// Values by cuDNN's numbers of knobs, which never change.
using Knobs = std::map<int64_t, int64_t>;

// Shows what cudnn_frontend keeps to itself: notes and workspaces of plans that are not built.
class FrontendGraph : public fe::graph::Graph {
 public:
  bool HasNote(int64_t plan, fe::NumericalNote_t note) const {
    return Contains(plans.numeric_notes, plan, note);
  }
  bool HasNote(int64_t plan, fe::BehaviorNote_t note) const {
    return Contains(plans.behavior_notes, plan, note);
  }
  // Nothing is barred in our graphs: this is all configurations, in order.
  fe::EngineConfigList Configurations() { return plans.get_barred_engine_configs(); }

  // As create_execution_plan does, but with cuDNN's own numbers for knobs: cudnn_frontend has none
  // for some of those that its heuristics return.
  absl::Status AddConfiguration(int64_t engine_number, const Knobs& knobs) {
    fe::detail::backend_descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(fe::detail::create_engine(engine, engine_number, operation_graph->get_raw_desc(),
                                            device_properties),
                  "engine"));
    std::vector<fe::detail::backend_descriptor> choices;
    for (const auto& [type, value] : knobs) {
      choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
      QUOTIENT_RETURN_IF_ERROR(SetKnob(choices.back().get_ptr(), type, value));
    }
    auto configuration = fe::make_shared_backend_pointer(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(fe::detail::create_engine_config(configuration, engine, choices), "knobs"));
    plans.set_tag(operation_graph->getTag());
    plans.enqueue_engine_configs({configuration});
    return DnnStatus(plans.query_properties(), "notes");
  }

  // A built plan as text, with the code that cuDNN compiled for it.
  std::string PlanText() const { return plans.execution_plans.at(0)->getJsonRepresentation(); }

  // Takes the plan from what PlanText gave for an equal graph. After an error the graph is as
  // before.
  absl::Status LoadPlan(const std::string& text, const Target& target) {
    return DnnStatus(target.properties != nullptr ? plans.build_plans(target.properties, text)
                                                  : plans.build_plans(target.handle, text),
                     "plan from its text");
  }

 private:
  static absl::Status SetKnob(cudnnBackendDescriptor_t choice, int64_t type, int64_t value) {
    const auto backend_type = static_cast<cudnnBackendKnobType_t>(type);
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(cudnnBackendSetAttribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                           CUDNN_TYPE_KNOB_TYPE, 1, &backend_type),
                  "knob's type"));
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(cudnnBackendSetAttribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                           CUDNN_TYPE_INT64, 1, &value),
                  "knob's value"));
    return DnnStatus(cudnnBackendFinalize(choice), "knob");
  }

  template <typename Note>
  static bool Contains(const std::vector<std::vector<Note>>& notes, int64_t plan, Note note) {
    const std::vector<Note>& of_plan = notes.at(static_cast<size_t>(plan));
    return std::find(of_plan.begin(), of_plan.end(), note) != of_plan.end();
  }
};

// A tensor's id to cuDNN is its position and one; buffers are then in the order of ids.
class Translator {
 public:
  Translator(const DnnGraph& graph, FrontendGraph* out)
      : graph_(graph), out_(*out), tensors_(graph.tensors.size()) {}

  absl::Status Run() {
    for (const DnnNode& node : graph_.nodes) {
      std::vector<Tensor> inputs;
      for (const int input : node.inputs) {
        QUOTIENT_ASSIGN_OR_RETURN(Tensor tensor, Input(input));
        inputs.push_back(std::move(tensor));
      }
      QUOTIENT_ASSIGN_OR_RETURN(const Tensor output, Emit(node, inputs));
      QUOTIENT_RETURN_IF_ERROR(SetOutput(node.output, output));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<const DnnTensor*> At(int position) const {
    if (position < 0 || static_cast<size_t>(position) >= graph_.tensors.size()) {
      return absl::InvalidArgumentError(absl::StrCat("cuDNN: the graph has no tensor ", position));
    }
    return &graph_.tensors[static_cast<size_t>(position)];
  }

  absl::StatusOr<Tensor> Input(int position) {
    QUOTIENT_ASSIGN_OR_RETURN(const DnnTensor* tensor, At(position));
    Tensor& known = tensors_[static_cast<size_t>(position)];
    if (known != nullptr) return known;
    if (tensor->is_virtual) {
      return absl::InvalidArgumentError(
          absl::StrCat("cuDNN: tensor ", position, " is read before it is computed"));
    }
    QUOTIENT_ASSIGN_OR_RETURN(Tensor_attributes attributes, Describe(*tensor));
    if (!tensor->value.has_value()) attributes.set_uid(position + 1);
    known = out_.tensor(attributes);
    return known;
  }

  static absl::StatusOr<Tensor_attributes> Describe(const DnnTensor& tensor) {
    QUOTIENT_ASSIGN_OR_RETURN(const fe::DataType_t type, DataType(tensor.type));
    Tensor_attributes attributes;
    if (tensor.value.has_value()) attributes = Scalar(*tensor.value, type);
    attributes.set_dim(tensor.dims).set_stride(tensor.strides).set_data_type(type);
    return attributes;
  }

  static Tensor_attributes Scalar(float value, fe::DataType_t type) {
    if (type == fe::DataType_t::HALF) return Tensor_attributes(__float2half(value));
    if (type == fe::DataType_t::BFLOAT16) return Tensor_attributes(__float2bfloat16(value));
    return Tensor_attributes(value);
  }

  absl::Status SetOutput(int position, const Tensor& output) {
    QUOTIENT_ASSIGN_OR_RETURN(const DnnTensor* tensor, At(position));
    QUOTIENT_ASSIGN_OR_RETURN(const fe::DataType_t type, DataType(tensor->type));
    output->set_uid(position + 1)
        .set_dim(tensor->dims)
        .set_stride(tensor->strides)
        .set_data_type(type)
        .set_output(!tensor->is_virtual);
    tensors_[static_cast<size_t>(position)] = output;
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Emit(const DnnNode& node, const std::vector<Tensor>& inputs) {
    const auto takes = [&inputs](size_t least, size_t most) {
      return inputs.size() >= least && inputs.size() <= most;
    };
    switch (node.op) {
      case DnnOp::kConvolution:
        if (takes(2, 2)) return Convolution(node, inputs);
        break;
      case DnnOp::kTransposedConvolution:
        if (takes(2, 2)) return TransposedConvolution(node, inputs);
        break;
      case DnnOp::kProduct:
        if (takes(2, 2)) return out_.matmul(inputs[0], inputs[1], fe::graph::Matmul_attributes());
        break;
      case DnnOp::kPointwise:
        if (takes(1, 3)) return Pointwise(node, inputs);
        break;
      case DnnOp::kReduction:
        if (takes(1, 1)) return Reduction(node, inputs);
        break;
      case DnnOp::kPool:
        if (takes(1, 1)) return Pool(node, inputs);
        break;
      case DnnOp::kLayerNorm:
        if (takes(3, 3)) return LayerNorm(node, inputs);
        break;
      case DnnOp::kRmsNorm:
        if (takes(2, 2)) return RmsNorm(node, inputs);
        break;
      case DnnOp::kAttention:
        if (takes(3, 4)) return Attention(node, inputs);
        break;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "cuDNN: an operation ", static_cast<int>(node.op), " of ", inputs.size(), " inputs"));
  }

  Tensor Convolution(const DnnNode& node, const std::vector<Tensor>& inputs) {
    return out_.conv_fprop(inputs[0], inputs[1],
                           fe::graph::Conv_fprop_attributes()
                               .set_pre_padding(node.pads_begin)
                               .set_post_padding(node.pads_end)
                               .set_stride(node.strides)
                               .set_dilation(node.dilations)
                               .set_convolution_mode(fe::ConvolutionMode_t::CROSS_CORRELATION));
  }

  Tensor TransposedConvolution(const DnnNode& node, const std::vector<Tensor>& inputs) {
    return out_.conv_dgrad(inputs[0], inputs[1],
                           fe::graph::Conv_dgrad_attributes()
                               .set_pre_padding(node.pads_begin)
                               .set_post_padding(node.pads_end)
                               .set_stride(node.strides)
                               .set_dilation(node.dilations)
                               .set_convolution_mode(fe::ConvolutionMode_t::CROSS_CORRELATION));
  }

  absl::StatusOr<Tensor> Pointwise(const DnnNode& node, const std::vector<Tensor>& inputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const fe::PointwiseMode_t mode, PointwiseMode(node.mode));
    fe::graph::Pointwise_attributes attributes;
    attributes.set_mode(mode);
    if (node.mode == DnnMode::kClippedRelu) {
      attributes.set_relu_lower_clip(static_cast<float>(node.lower))
          .set_relu_upper_clip(static_cast<float>(node.upper));
    }
    if (inputs.size() == 1) return out_.pointwise(inputs[0], attributes);
    if (inputs.size() == 2) return out_.pointwise(inputs[0], inputs[1], attributes);
    return out_.pointwise(inputs[0], inputs[1], inputs[2], attributes);
  }

  absl::StatusOr<Tensor> Reduction(const DnnNode& node, const std::vector<Tensor>& inputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const fe::ReductionMode_t mode, ReductionMode(node.mode));
    return out_.reduction(inputs[0], fe::graph::Reduction_attributes().set_mode(mode));
  }

  absl::StatusOr<Tensor> Pool(const DnnNode& node, const std::vector<Tensor>& inputs) {
    QUOTIENT_ASSIGN_OR_RETURN(const fe::ResampleMode_t mode, PoolMode(node.mode));
    return out_.resample(inputs[0], fe::graph::Resample_attributes()
                                        .set_generate_index(false)
                                        .set_resampling_mode(mode)
                                        .set_padding_mode(node.mode == DnnMode::kMaxPool
                                                              ? fe::PaddingMode_t::NEG_INF_PAD
                                                              : fe::PaddingMode_t::ZERO_PAD)
                                        .set_window(node.window)
                                        .set_stride(node.strides)
                                        .set_pre_padding(node.pads_begin)
                                        .set_post_padding(node.pads_end))[0];
  }

  // Of the rank of `x`, as the norms want it.
  Tensor Epsilon(const DnnNode& node, const Tensor& x) {
    const std::vector<int64_t> ones(x->get_dim().size(), 1);
    return out_.tensor(
        Tensor_attributes(static_cast<float>(node.epsilon)).set_dim(ones).set_stride(ones));
  }

  Tensor LayerNorm(const DnnNode& node, const std::vector<Tensor>& inputs) {
    Tensor epsilon = Epsilon(node, inputs[0]);
    return out_.layernorm(inputs[0], inputs[1], inputs[2],
                          fe::graph::Layernorm_attributes()
                              .set_forward_phase(fe::NormFwdPhase_t::INFERENCE)
                              .set_epsilon(epsilon))[0];
  }

  Tensor RmsNorm(const DnnNode& node, const std::vector<Tensor>& inputs) {
    Tensor epsilon = Epsilon(node, inputs[0]);
    return out_.rmsnorm(inputs[0], inputs[1],
                        fe::graph::Rmsnorm_attributes()
                            .set_forward_phase(fe::NormFwdPhase_t::INFERENCE)
                            .set_epsilon(epsilon))[0];
  }

  Tensor Attention(const DnnNode& node, const std::vector<Tensor>& inputs) {
    fe::graph::SDPA_attributes attributes;
    attributes.set_generate_stats(false).set_attn_scale(static_cast<float>(node.scale));
    if (inputs.size() == 4) attributes.set_bias(inputs[3]);
    return out_.sdpa(inputs[0], inputs[1], inputs[2], attributes)[0];
  }

  const DnnGraph& graph_;
  FrontendGraph& out_;
  std::vector<Tensor> tensors_;  // null: not met yet
};

// --- plans ---

// INVALID_ARGUMENT if the graph makes no sense; UNIMPLEMENTED if cuDNN does not take it.
absl::StatusOr<std::unique_ptr<FrontendGraph>> Translate(const DnnGraph& graph,
                                                         const Target& target) {
  auto translated = std::make_unique<FrontendGraph>();
  translated->set_compute_data_type(fe::DataType_t::FLOAT)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(target.compute_capability)
      // We keep plans alive ourselves; the default makes launches of captured graphs slower.
      .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
  if (target.properties != nullptr) translated->set_device_properties(target.properties);
  QUOTIENT_RETURN_IF_ERROR(Translator(graph, translated.get()).Run());
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(translated->validate(), "validation"));
  QUOTIENT_RETURN_IF_ERROR(
      DnnStatus(translated->build_operation_graph(target.handle), "operation graph"));
  return translated;
}

// Whether cuDNN may use tensor cores in a way that rounds the operands.
bool MultipliesFloat32(const DnnGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&graph](const DnnNode& node) {
    const bool multiplies = node.op == DnnOp::kConvolution ||
                            node.op == DnnOp::kTransposedConvolution ||
                            node.op == DnnOp::kProduct || node.op == DnnOp::kAttention;
    return multiplies &&
           graph.tensors.at(static_cast<size_t>(node.inputs.at(0))).type == model::DType::kFloat32;
  });
}

// A plan as cuDNN has to be told it; a name such as "engine=12,knob2=3,knob27=1".
struct PlanChoice {
  int64_t engine = 0;
  Knobs knobs;
};

std::string PlanName(const PlanChoice& choice) {
  std::string name = absl::StrCat("engine=", choice.engine);
  for (const auto& [type, value] : choice.knobs) {
    absl::StrAppend(&name, ",knob", type, "=", value);
  }
  return name;
}

absl::StatusOr<PlanChoice> ParsePlanName(const std::string& name) {
  const absl::Status bad =
      absl::InvalidArgumentError(absl::StrCat("'", name, "' is no cuDNN plan"));
  PlanChoice choice;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(name, ',')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view prefix = first ? "engine" : "knob";
    int64_t value = 0;
    int64_t type = 0;
    if (field.first.substr(0, prefix.size()) != prefix || !absl::SimpleAtoi(field.second, &value)) {
      return bad;
    }
    if (first) {
      choice.engine = value;
    } else if (absl::SimpleAtoi(field.first.substr(prefix.size()), &type)) {
      choice.knobs[type] = value;
    } else {
      return bad;
    }
    first = false;
  }
  return choice;
}

absl::StatusOr<PlanChoice> ChoiceOf(const fe::ManagedOpaqueDescriptor& configuration) {
  PlanChoice choice;
  std::vector<std::pair<cudnnBackendKnobType_t, int64_t>> knobs;
  QUOTIENT_RETURN_IF_ERROR(
      DnnStatus(fe::detail::get_engine_id_and_knobs(configuration, choice.engine, knobs),
                "cudnnBackendGetAttribute"));
  choice.knobs.insert(knobs.begin(), knobs.end());
  return choice;
}

absl::StatusOr<LibraryPlan> DescribePlan(const FrontendGraph& graph, int64_t index,
                                         fe::ManagedOpaqueDescriptor configuration,
                                         bool multiplies_float32) {
  LibraryPlan plan;
  QUOTIENT_ASSIGN_OR_RETURN(const PlanChoice choice, ChoiceOf(configuration));
  plan.name = PlanName(choice);
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(
      fe::detail::get_workspace_size(configuration, plan.workspace_bytes), "plan's workspace"));
  // Pointwise chains and reductions carry the note, too, and round nothing.
  using Note = fe::NumericalNote_t;
  plan.tensor_cores =
      multiplies_float32 &&
      (graph.HasNote(index, Note::TENSOR_CORE) || graph.HasNote(index, Note::DOWN_CONVERT_INPUTS) ||
       graph.HasNote(index, Note::REDUCED_PRECISION_REDUCTION));
  plan.compiled_at_run_time = graph.HasNote(index, fe::BehaviorNote_t::RUNTIME_COMPILATION);
  return plan;
}

absl::StatusOr<std::vector<LibraryPlan>> FindPlans(const DnnGraph& graph, const Target& target) {
  const auto translated = Translate(graph, target);

  if (absl::IsUnimplemented(translated.status())) return std::vector<LibraryPlan>();
  QUOTIENT_RETURN_IF_ERROR(translated.status());
  FrontendGraph& frontend = **translated;
  // An error also says that there is no configuration at all.
  if (frontend.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) {
    return std::vector<LibraryPlan>();
  }
  const bool multiplies = MultipliesFloat32(graph);
  const fe::EngineConfigList configurations = frontend.Configurations();
  std::vector<LibraryPlan> plans;
  for (size_t i = 0; i < configurations.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(LibraryPlan plan, DescribePlan(frontend, static_cast<int64_t>(i),
                                                             configurations[i], multiplies));
    if (plan.tensor_cores && graph.policy == MathPolicy::kStrict32) continue;
    // The fallback list repeats some of the others.
    const auto same = [&plan](const LibraryPlan& other) { return other.name == plan.name; };
    if (std::none_of(plans.begin(), plans.end(), same)) plans.push_back(std::move(plan));
  }
  return plans;
}

std::string CacheKey(const DnnGraph& graph, const std::string& plan, const Target& target) {
  return absl::StrCat("cuDNN ", CudnnVersion(), ", frontend ", CUDNN_FRONTEND_VERSION,
                      ", translation ", kTranslation, "\n", target.device, "\n", ToString(graph),
                      "\n", plan);
}

// What cannot be had as text is built again by the next process.
void Keep(const FrontendGraph& built, const std::string& key, CodeCache* cache) {
  const auto text = NoThrow([&]() -> absl::StatusOr<std::string> { return built.PlanText(); });
  if (text.ok()) cache->Add(key, *text);
}

// The plan of that name at index 0, without asking the heuristics again. Those with code that is
// compiled are kept, as the others take no time.
absl::StatusOr<std::unique_ptr<FrontendGraph>> BuildPlan(const DnnGraph& graph,
                                                         const std::string& plan,
                                                         const Target& target) {
  QUOTIENT_ASSIGN_OR_RETURN(const PlanChoice choice, ParsePlanName(plan));
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

// --- with a device ---

// A handle serves one thread at a time; making one takes milliseconds and device memory.
class HandlePool {
 public:
  HandlePool() = default;
  ~HandlePool() {
    for (cudnnHandle_t handle : idle_) cudnnDestroy(handle);
    if (for_launches_ != nullptr) cudnnDestroy(for_launches_);
  }

  // Makes the handle of launches. They are captured, one at a time, and while a stream is captured
  // no handle can be made.
  absl::Status Open() { return DnnStatus(cudnnCreate(&for_launches_), "cudnnCreate"); }
  cudnnHandle_t for_launches() const { return for_launches_; }

  absl::StatusOr<cudnnHandle_t> Take() {
    {
      absl::MutexLock lock(&mutex_);
      if (!idle_.empty()) {
        cudnnHandle_t handle = idle_.back();
        idle_.pop_back();
        return handle;
      }
    }
    cudnnHandle_t handle = nullptr;
    QUOTIENT_RETURN_IF_ERROR(DnnStatus(cudnnCreate(&handle), "cudnnCreate"));
    return handle;
  }

  void Return(cudnnHandle_t handle) {
    absl::MutexLock lock(&mutex_);
    idle_.push_back(handle);
  }

 private:
  absl::Mutex mutex_;
  std::vector<cudnnHandle_t> idle_ ABSL_GUARDED_BY(mutex_);
  cudnnHandle_t for_launches_ = nullptr;
};

// A handle of the pool for as long as the object lives.
class Lease {
 public:
  static absl::StatusOr<Lease> Of(HandlePool& pool) {
    QUOTIENT_ASSIGN_OR_RETURN(cudnnHandle_t handle, pool.Take());
    return Lease(pool, handle);
  }
  Lease(Lease&& other) noexcept
      : pool_(other.pool_), handle_(std::exchange(other.handle_, nullptr)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (handle_ != nullptr) pool_.Return(handle_);
  }
  cudnnHandle_t get() const { return handle_; }

 private:
  Lease(HandlePool& pool, cudnnHandle_t handle) : pool_(pool), handle_(handle) {}
  HandlePool& pool_;
  cudnnHandle_t handle_;
};

class DnnLauncher : public StreamLauncher {
 public:
  DnnLauncher(std::unique_ptr<FrontendGraph> graph, HandlePool& handles, int64_t workspace_bytes)
      : graph_(std::move(graph)), handles_(handles), workspace_bytes_(workspace_bytes) {}

  int64_t workspace_bytes() const override { return workspace_bytes_; }

  absl::Status Enqueue(const Step& step, cudaStream_t stream) const override {
    const cudnnHandle_t handle = handles_.for_launches();
    QUOTIENT_RETURN_IF_ERROR(DnnStatus(cudnnSetStream(handle, stream), "cudnnSetStream"));
    std::vector<void*> buffers;
    for (const DeviceAddress address : step.buffers) {
      buffers.push_back(reinterpret_cast<void*>(address));
    }
    const fe::error_t error =
        graph_->execute_plan_at_index(handle, buffers.data(), static_cast<int>(buffers.size()),
                                      reinterpret_cast<void*>(step.workspace), /*plan_index=*/0);
    if (error.is_good()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("cuDNN: execution: ", error.err_msg));
  }

 private:
  const std::unique_ptr<FrontendGraph> graph_;
  HandlePool& handles_;
  const int64_t workspace_bytes_;
};

class OpenCudnn : public Cudnn {
 public:
  OpenCudnn(int ordinal, const GpuFacts& facts, CodeCache* cache)
      : ordinal_(ordinal),
        device_{.compute_capability = facts.compute_capability,
                .cache = cache,
                .device = absl::StrCat(facts.name, " sm_", facts.compute_capability, ", ",
                                       facts.processors, " processors, TF32 override '",
                                       facts.tf32_override, "'")} {}

  // What is missing shows now, not in the middle of the work.
  absl::Status Open() { return handles_.Open(); }

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    QUOTIENT_ASSIGN_OR_RETURN(const Lease handle, Lease::Of(handles_));
    return FindPlans(graph, ThisDevice(handle));
  }

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                    const std::string& plan) override {
    QUOTIENT_ASSIGN_OR_RETURN(const Lease handle, Lease::Of(handles_));
    QUOTIENT_ASSIGN_OR_RETURN(auto built, BuildPlan(graph, plan, ThisDevice(handle)));
    int64_t bytes = 0;
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(built->get_workspace_size_plan_at_index(0, bytes), "workspace of " + plan));
    return std::make_unique<DnnLauncher>(std::move(built), handles_, bytes);
  }

  absl::StatusOr<std::string> PropertiesJson() override {
    fe::DeviceProperties properties;
    QUOTIENT_RETURN_IF_ERROR(
        DnnStatus(properties.set_device_id(ordinal_).build(), "device properties"));
    std::vector<uint8_t> bytes;
    QUOTIENT_RETURN_IF_ERROR(DnnStatus(properties.serialize(bytes), "device properties"));
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    return std::string(bytes.begin(), bytes.end());
  }

 private:
  Target ThisDevice(const Lease& handle) const {
    Target target = device_;
    target.handle = handle.get();
    return target;
  }

  const int ordinal_;
  const Target device_;  // without a handle
  HandlePool handles_;
};

// --- without a device ---

class DescribedDevice : public DnnChecker {
 public:
  explicit DescribedDevice(Target target) : target_(std::move(target)) {}

  absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) override {
    return NoThrow([&] { return FindPlans(graph, target_); });
  }
  absl::Status Build(const DnnGraph& graph, const std::string& plan) override {
    const absl::Status status = NoThrow([&] { return BuildPlan(graph, plan, target_).status(); });
    // Code that cuDNN compiles is loaded when it is done; only that fails without a driver.
    const bool only_loading_failed =
        status.message().find("CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER") != std::string::npos;
    return only_loading_failed ? absl::OkStatus() : status;
  }

 private:
  const Target target_;
};

}  // namespace

absl::Status CheckCudnn() {
  if (CudnnVersion() >= kOldestCudnn) return absl::OkStatus();
  return MakeError(Reason::kDeviceNotPresent,
                   absl::StrCat("cuDNN is too old: ", CudnnVersion(), ", and ", kOldestCudnn,
                                " (9.11) or newer is needed"));
}

absl::StatusOr<std::unique_ptr<Cudnn>> Cudnn::Create(int ordinal, const GpuFacts& facts,
                                                     CodeCache* cache) {
  auto cudnn = std::make_unique<OpenCudnn>(ordinal, facts, cache);
  QUOTIENT_RETURN_IF_ERROR(cudnn->Open());
  return cudnn;
}

absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(const std::string& properties_json,
                                                          int compute_capability,
                                                          CodeCache* cache) {
  auto properties = std::make_shared<fe::DeviceProperties>();
  const std::vector<uint8_t> bytes(properties_json.begin(), properties_json.end());
  if (const fe::error_t error = properties->deserialize(bytes); error.is_bad()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cuDNN: a device's properties: ", error.err_msg));
  }
  return std::make_unique<DescribedDevice>(Target{.properties = std::move(properties),
                                                  .compute_capability = compute_capability,
                                                  .cache = cache,
                                                  .device = properties_json});
}

}  // namespace quotient::kernels::cuda
