#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/kernels/fusion.h"
#include "core/kernels/onednn/primitive_kernel.h"
#include "core/kernels/unary_call.h"

namespace quotient::kernels::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using ops::UnaryFunction;

struct Eltwise {
  algorithm fn;
  float alpha = 0;
  float beta = 0;
};

std::optional<Eltwise> FindEltwise(const UnaryCall& call) {
  constexpr double kMax = std::numeric_limits<float>::max();
  const auto first = static_cast<float>(call.first), second = static_cast<float>(call.second);
  switch (call.function) {
    case UnaryFunction::kRelu:
      return Eltwise{algorithm::eltwise_relu};
    case UnaryFunction::kLeakyRelu:
      return Eltwise{algorithm::eltwise_relu, first};
    case UnaryFunction::kSigmoid:
      return Eltwise{algorithm::eltwise_logistic};
    case UnaryFunction::kTanh:
      return Eltwise{algorithm::eltwise_tanh};
    case UnaryFunction::kClip:
      return Eltwise{algorithm::eltwise_clip, static_cast<float>(std::max(call.first, -kMax)),
                     static_cast<float>(std::min(call.second, kMax))};
    case UnaryFunction::kHardSigmoid:
      return Eltwise{algorithm::eltwise_hardsigmoid, first, second};
    case UnaryFunction::kHardSwish:
      return Eltwise{algorithm::eltwise_hardswish, 1.0f / 6.0f, 0.5f};
    case UnaryFunction::kGeluErf:
      return Eltwise{algorithm::eltwise_gelu_erf};
    case UnaryFunction::kGeluTanh:
      return Eltwise{algorithm::eltwise_gelu_tanh};
    case UnaryFunction::kNeg:
      return Eltwise{algorithm::eltwise_linear, -1};
    case UnaryFunction::kAbs:
      return Eltwise{algorithm::eltwise_abs};
    case UnaryFunction::kSqrt:
      return Eltwise{algorithm::eltwise_sqrt};
    case UnaryFunction::kExp:
      return Eltwise{algorithm::eltwise_exp};
    case UnaryFunction::kElu:
      return Eltwise{algorithm::eltwise_elu, first};
    case UnaryFunction::kMish:
      return Eltwise{algorithm::eltwise_mish};
    case UnaryFunction::kSoftplus:
      return Eltwise{algorithm::eltwise_soft_relu, 1};
    case UnaryFunction::kSwish:
      return Eltwise{algorithm::eltwise_swish, first};
    default:
      return std::nullopt;
  }
}

algorithm BinaryOf(absl::string_view op) {
  if (op == "Add") return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  if (op == "Div") return algorithm::binary_div;
  if (op == "Max") return algorithm::binary_max;
  return algorithm::binary_min;
}

int BinaryArgument(const dnnl::post_ops& ops) {
  return DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1;
}

// The operand as the primitive sees it: with the output's rank, and ones where it is broadcast.
memory::desc OperandDesc(const PrimitiveKernel& kernel, const Operand& operand,
                         const std::vector<int64_t>& dims) {
  const KernelSpec& spec = kernel.spec();
  const model::TensorType& running = spec.outputs[0].type;
  const int channel = ChannelAxis(spec.op, running.rank());
  std::vector<int64_t> shape(dims.size(), 1);
  switch (SpreadOf(operand.type, running, channel)) {
    case Spread::kFull:
      if (dims != operand.type.dims()) return Plain(dims);  // Joined axes.
      return Activation(operand);
    case Spread::kChannel:
      shape[channel == running.rank() - 1 ? dims.size() - 1 : static_cast<size_t>(channel)] =
          operand.type.elements();
      break;
    default:
      break;
  }
  return Plain(shape);
}

void AppendNormalization(PrimitiveKernel& kernel, const Epilogue& epilogue, size_t first,
                         const std::vector<int64_t>& dims, PostOps& post_ops) {
  const double epsilon = epilogue.attributes.GetFloat("epsilon", 1e-5);
  const int64_t channels = kernel.operands()[first].type.elements();
  std::vector<int64_t> shape(dims.size(), 1);
  shape[1] = channels;
  const std::vector<size_t> sources{first, first + 1, first + 2, first + 3};
  const auto factor = [=](std::span<const model::Tensor* const> t, int64_t c) {
    return t[first]->GetDouble(c) / std::sqrt(t[first + 3]->GetDouble(c) + epsilon);
  };
  const int64_t scale = kernel.AddDerived(sources, channels,
                                          [=](std::span<const model::Tensor* const> t, float* out) {
                                            for (int64_t c = 0; c < channels; ++c)
                                              out[c] = static_cast<float>(factor(t, c));
                                          });
  const int64_t shift = kernel.AddDerived(
      sources, channels, [=](std::span<const model::Tensor* const> t, float* out) {
        for (int64_t c = 0; c < channels; ++c) {
          const double moved = t[first + 2]->GetDouble(c) * factor(t, c);
          out[c] = static_cast<float>(t[first + 1]->GetDouble(c) - moved);
        }
      });
  const memory::desc desc = Plain(shape);
  for (const auto& [fn, constant] :
       {std::pair{algorithm::binary_mul, scale}, std::pair{algorithm::binary_add, shift}}) {
    post_ops.arguments.push_back(
        {BinaryArgument(post_ops.ops), desc, Argument::Source::kConstant, constant});
    post_ops.ops.append_binary(fn, desc);
  }
}

}  // namespace

absl::Status AppendEpilogue(PrimitiveKernel& kernel, const std::vector<int64_t>& dims,
                            PostOps& post_ops) {
  size_t next = kernel.spec().inputs.size();
  for (const Epilogue& epilogue : kernel.spec().epilogue) {
    if (epilogue.op == "BatchNormalization") {
      AppendNormalization(kernel, epilogue, next, dims, post_ops);
    } else if (const auto call = UnaryCallOf(epilogue.op, epilogue.attributes)) {
      const auto eltwise = FindEltwise(*call);
      if (!eltwise) return absl::UnimplementedError(epilogue.op);
      post_ops.ops.append_eltwise(eltwise->fn, eltwise->alpha, eltwise->beta);
    } else {
      absl::string_view op = epilogue.op;
      if (epilogue.running_is_second && op == "Sub") {  // y - x = -x + y.
        post_ops.ops.append_eltwise(algorithm::eltwise_linear, -1, 0);
        op = "Add";
      }
      const Operand& operand = kernel.operands()[next];
      const memory::desc desc = OperandDesc(kernel, operand, dims);
      const memory::desc given = operand.constant ? Plain(desc.get_dims()) : desc;
      post_ops.arguments.push_back(kernel.Read(BinaryArgument(post_ops.ops), next, given, desc));
      post_ops.ops.append_binary(BinaryOf(op), desc);
    }
    next += epilogue.operands.size();
  }
  return absl::OkStatus();
}

}  // namespace quotient::kernels::onednn
