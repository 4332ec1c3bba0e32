#include "core/kernels/ort_fusions.h"

#include <algorithm>
#include <span>

#include "core/model/dtype.h"

namespace quotient::kernels {
namespace {

using model::TensorType;

// The activations that a Conv takes, and a Gemm.
constexpr absl::string_view kOfConv[] = {"Clip", "HardSigmoid", "HardSwish", "LeakyRelu",
                                         "Relu", "Sigmoid",     "Tanh"};
constexpr absl::string_view kOfGemm[] = {"Elu",  "HardSigmoid",    "LeakyRelu", "Relu",
                                         "Selu", "Sigmoid",        "Softplus",  "Softsign",
                                         "Tanh", "ThresholdedRelu"};

// Element-wise operators that have kernels for blocked values or take any order of elements.
constexpr absl::string_view kUnaryInBlocks[] = {"Clip",      "Gelu", "HardSigmoid", "HardSwish",
                                                "LeakyRelu", "Relu", "Sigmoid",     "Tanh"};

bool IsIn(absl::string_view op, std::span<const absl::string_view> list) {
  return std::ranges::find(list, op) != list.end();
}

bool IsImage(const TensorType& type) {
  return type.dtype == model::DType::kFloat32 && type.rank() == 4;
}

// The operand of a binary node beside the running value.
const Operand& OtherOperand(const ElementwiseNode& node) { return node.inputs[1 - node.running]; }

// Whether a factor or summand goes into the weights or the bias of a Conv. A factor may be a
// number, but only without dimensions; a summand may not.
bool GoesIntoConv(const ElementwiseNode& node) {
  if (node.op != "Mul" && node.op != "Add") return false;
  const Operand& other = OtherOperand(node);
  if (!other.constant || node.running != 0) return false;
  if (node.op == "Mul" && other.type.rank() == 0) return true;
  return SpreadOf(other.type, node.output, 1) == Spread::kChannel;
}

// Constants go into the weights first, then comes a sum, and then an activation. A sum whose other
// operand is in no blocks stays alone; whether it is, is not known here.
bool FusesBehindConv(absl::string_view before, const ElementwiseNode& node) {
  if (IsIn(before, kOfConv)) return false;
  if (IsIn(node.op, kOfConv)) return true;
  if (node.op == "BatchNormalization") return before != "Add";
  if (node.inputs.size() != 2) return false;
  const bool is_sum = node.op == "Add" && !OtherOperand(node).constant && IsImage(node.output) &&
                      OtherOperand(node).type == node.output;
  return is_sum || (before != "Add" && GoesIntoConv(node));
}

// A bias makes a MatMul a Gemm, also that of more than two dimensions, but only that of two takes
// an activation then; a number becomes its alpha.
bool FusesBehindMatMul(absl::string_view before, const ElementwiseNode& node) {
  const bool is_matrix = node.output.rank() == 2;
  if (before == "Add") return is_matrix && IsIn(node.op, kOfGemm);
  if (before != "MatMul" || node.inputs.size() != 2) return false;
  const Operand& other = OtherOperand(node);
  if (node.op == "Add") {
    return (other.constant && other.type.rank() == 1) || (is_matrix && other.type == node.output);
  }
  const bool scales = node.op == "Mul" || (node.op == "Div" && node.running == 0);
  return scales && other.constant && other.type.elements() == 1;
}

bool IsRegularResize(const OperatorCall& call) {
  const std::string mode = call.attributes.GetString("mode", "nearest");
  const std::string transformation =
      call.attributes.GetString("coordinate_transformation_mode", "half_pixel");
  if (mode == "linear") return true;
  return mode == "nearest" && transformation == "asymmetric" &&
         call.attributes.GetString("nearest_mode", "round_prefer_floor") == "floor";
}

class OrtFusions final : public RuntimeFusions {
 public:
  // `block` is the number of channels that lie side by side in blocked layouts.
  OrtFusions(absl::string_view name, int block) : name_(name), block_(block) {}

  absl::string_view name() const override { return name_; }
  bool Fuses(absl::string_view main_op, absl::string_view before,
             const ElementwiseNode& node) const override;
  Blocking BlockingOf(const OperatorCall& call) const override;

 private:
  Blocking OfConv(const OperatorCall& call) const;
  bool IsWholeBlocks(int64_t channels) const { return channels % block_ == 0; }

  const absl::string_view name_;
  const int block_;
};

bool OrtFusions::Fuses(absl::string_view main_op, absl::string_view before,
                       const ElementwiseNode& node) const {
  if (main_op == "Conv") return FusesBehindConv(before, node);
  if (main_op == "MatMul") return FusesBehindMatMul(before, node);
  if (main_op == "Gemm") return before == "Gemm" && IsIn(node.op, kOfGemm);
  return before == "ConvTranspose" && node.op == "BatchNormalization";
}

Blocking OrtFusions::OfConv(const OperatorCall& call) const {
  const std::vector<int64_t> weight = call.inputs[1].type.dims();
  const int64_t filters = weight[0], read = weight[1];
  const int64_t groups = call.attributes.GetInt("group", 1);
  if (!call.inputs[1].constant) return Blocking::kNever;
  if (groups == 1) {
    if (read < block_) return Blocking::kFromPlain;
    return read % kChannelStep == 0 ? Blocking::kAlways : Blocking::kNever;
  }
  const bool depthwise = read == 1 && filters == groups;
  const bool fits = depthwise ? filters % kChannelStep == 0
                              : IsWholeBlocks(read) && IsWholeBlocks(filters / groups);
  return fits ? Blocking::kAlways : Blocking::kNever;
}

Blocking OrtFusions::BlockingOf(const OperatorCall& call) const {
  if (!IsImage(call.output) || call.inputs.empty() || !IsImage(call.inputs[0].type)) {
    return Blocking::kNever;
  }
  const int64_t channels = call.inputs[0].type.dims()[1];
  const auto like_inputs_if = [](bool fits) {
    return fits ? Blocking::kLikeInputs : Blocking::kNever;
  };
  if (call.op == "Conv") return OfConv(call);
  if (call.op == "MaxPool" || call.op == "AveragePool" || call.op == "GlobalAveragePool") {
    return IsWholeBlocks(channels) ? Blocking::kAlways : Blocking::kNever;
  }
  if (IsIn(call.op, kUnaryInBlocks) || call.op == "BatchNormalization" || call.op == "Pad") {
    return Blocking::kLikeInputs;
  }
  if (call.op == "Mul" && call.inputs.size() == 2 && call.inputs[1].constant) {
    // It becomes a depthwise Conv.
    return like_inputs_if(SpreadOf(call.inputs[1].type, call.output, 1) == Spread::kChannel);
  }
  if (call.op == "Add" || call.op == "Mul") {
    return like_inputs_if(std::ranges::all_of(call.inputs, [&](const Operand& input) {
      return !input.constant && input.type == call.output;
    }));
  }
  if (call.op == "Concat") {
    return like_inputs_if(call.attributes.GetInt("axis", 0) == 1 &&
                          std::ranges::all_of(call.inputs, [&](const Operand& input) {
                            return !input.constant && IsWholeBlocks(input.type.dims()[1]);
                          }));
  }
  if (call.op == "Resize") return like_inputs_if(IsRegularResize(call));
  return Blocking::kNever;
}

const OrtFusions& OfBlock(int block) {
  static const auto& of_eight = *new OrtFusions("onnxruntime/8", 8);
  static const auto& of_sixteen = *new OrtFusions("onnxruntime/16", 16);
  return block == 8 ? of_eight : of_sixteen;
}

}  // namespace

// As wide as the vectors of the processor.
int ChannelsInBlock() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f") == 0) return 8;
#endif
  return 16;
}

const RuntimeFusions& OrtFusionsHere() { return OfBlock(ChannelsInBlock()); }

const RuntimeFusions* FindRuntimeFusions(absl::string_view name) {
  for (const int block : {8, 16}) {
    if (OfBlock(block).name() == name) return &OfBlock(block);
  }
  return nullptr;
}

}  // namespace quotient::kernels
