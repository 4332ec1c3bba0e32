#include "core/kernels/cuda/plugin/frontend_graph.h"

#include <cudnn.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/plugin/cudnn_status.h"

namespace quotient::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
using fe::graph::Tensor_attributes;
using Tensor = std::shared_ptr<Tensor_attributes>;

// --- Conversion to cudnn_frontend's terms

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
      {DnnMode::kLeakyRelu, Mode::RELU_FWD},
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

// --- Conversion of graphs to cudnn_frontend's

// A tensor's id in cuDNN is its index plus one, so buffers are in the order of ids.
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
    if (node.mode == DnnMode::kLeakyRelu) {
      attributes.set_relu_lower_clip_slope(static_cast<float>(node.slope));
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

  // With the rank of `x`, as the norms require.
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
  std::vector<Tensor> tensors_;  // Null if not visited yet.
};

// --- Notes and knobs

template <typename Note>
bool Contains(const std::vector<std::vector<Note>>& notes, int64_t plan, Note note) {
  const std::vector<Note>& of_plan = notes.at(static_cast<size_t>(plan));
  return std::find(of_plan.begin(), of_plan.end(), note) != of_plan.end();
}

absl::Status SetKnob(cudnnBackendDescriptor_t choice, int64_t type, int64_t value) {
  const auto backend_type = static_cast<cudnnBackendKnobType_t>(type);
  QUOTIENT_RETURN_IF_ERROR(
      CudnnStatus(cudnnBackendSetAttribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                           CUDNN_TYPE_KNOB_TYPE, 1, &backend_type),
                  "knob's type"));
  QUOTIENT_RETURN_IF_ERROR(
      CudnnStatus(cudnnBackendSetAttribute(choice, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE,
                                           CUDNN_TYPE_INT64, 1, &value),
                  "knob's value"));
  return CudnnStatus(cudnnBackendFinalize(choice), "knob");
}

}  // namespace

// An error of the device or a library, or a lack of memory, does not tell what cuDNN supports.
absl::Status DnnStatus(const fe::error_t& error, absl::string_view what) {
  if (error.is_good()) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": ", error.err_msg);
  switch (error.code) {
    case fe::error_code_t::CUDA_API_FAILED:
    case fe::error_code_t::INVALID_CUDA_DEVICE:
    case fe::error_code_t::HANDLE_ERROR:
    case fe::error_code_t::NVRTC_COMPILATION_FAILED:
    case fe::error_code_t::GRAPH_EXECUTION_FAILED:
      return absl::InternalError(message);
    default:
      return StatusOfText(message);
  }
}

// --- FrontendGraph

bool FrontendGraph::HasNote(int64_t plan, fe::NumericalNote_t note) const {
  return Contains(plans.numeric_notes, plan, note);
}

bool FrontendGraph::HasNote(int64_t plan, fe::BehaviorNote_t note) const {
  return Contains(plans.behavior_notes, plan, note);
}

// Nothing is barred in these graphs, so these are all configurations, in order.
fe::EngineConfigList FrontendGraph::Configurations() { return plans.get_barred_engine_configs(); }

absl::Status FrontendGraph::AddConfiguration(int64_t engine_number,
                                             const std::map<int64_t, int64_t>& knobs) {
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

std::string FrontendGraph::PlanText() const {
  return plans.execution_plans.at(0)->getJsonRepresentation();
}

absl::Status FrontendGraph::LoadPlan(const std::string& text, const CudnnTarget& target) {
  return DnnStatus(target.properties != nullptr ? plans.build_plans(target.properties, text)
                                                : plans.build_plans(target.handle, text),
                   "plan from its text");
}

absl::StatusOr<std::unique_ptr<FrontendGraph>> Translate(const DnnGraph& graph,
                                                         const CudnnTarget& target) {
  auto translated = std::make_unique<FrontendGraph>();
  translated->set_compute_data_type(fe::DataType_t::FLOAT)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_sm_version(target.compute_capability)
      // Plans are kept alive by us; the default makes launches of captured graphs slower.
      .set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
  if (target.properties != nullptr) translated->set_device_properties(target.properties);
  QUOTIENT_RETURN_IF_ERROR(Translator(graph, translated.get()).Run());
  QUOTIENT_RETURN_IF_ERROR(DnnStatus(translated->validate(), "validation"));
  QUOTIENT_RETURN_IF_ERROR(
      DnnStatus(translated->build_operation_graph(target.handle), "operation graph"));
  return translated;
}

}  // namespace quotient::kernels::cuda
