#include "tests/support/cuda/program_runner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/kernels/attention.h"
#include "core/kernels/cuda/pack.h"
#include "core/kernels/fusion.h"
#include "core/ops/op.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;
using model::Tensor;

// Applies a function to every element, and stores the results in another type.
template <typename Map>
Tensor Mapped(const Tensor& tensor, DType dtype, const Map& map) {
  std::vector<double> numbers = tensor.AsDoubles();
  std::transform(numbers.begin(), numbers.end(), numbers.begin(), map);
  std::span<std::byte> bytes;
  Tensor result = Tensor::Allocate(dtype, tensor.dims(), &bytes);
  model::Store(dtype, bytes, 0, std::span<const double>(numbers));
  return result;
}

// Converts the elements to another type.
Tensor Converted(const Tensor& tensor, DType dtype) {
  return Mapped(tensor, dtype, [](double x) { return x; });
}

bool IsNarrow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

// A node and the tensors that it reads.
class ReferenceNode {
 public:
  ReferenceNode(absl::string_view op, const model::AttributeMap& attributes) {
    node_.op = std::string(op);
    node_.attributes = attributes;
    node_.attributes.Erase(kExponentAttribute);
  }

  // If `widen`, 16-bit floats are converted to float32.
  void AddInput(const Operand& operand, const Tensor& tensor, bool widen) {
    if (operand.type.dtype == DType::kUndefined) {
      node_.inputs.push_back(model::ValueId());
      tensors_.push_back(std::nullopt);
      return;
    }
    node_.inputs.push_back(model::ValueId(0));
    tensors_.push_back(widen && IsNarrow(tensor.dtype()) ? Converted(tensor, DType::kFloat32)
                                                         : tensor);
  }

  absl::StatusOr<std::vector<Tensor>> Evaluate(const std::vector<Operand>& outputs) {
    for (uint32_t i = 0; i < outputs.size(); ++i) {
      const bool left_out = outputs[i].type.dtype == DType::kUndefined;
      node_.outputs.push_back(left_out ? model::ValueId() : model::ValueId(i));
    }
    std::vector<const Tensor*> pointers;
    for (const auto& tensor : tensors_) pointers.push_back(tensor ? &*tensor : nullptr);
    return ops::EvaluateNode(node_, pointers, 1);
  }

 private:
  model::Node node_;
  std::vector<std::optional<Tensor>> tensors_;
};

// Computes attention node by node.
absl::StatusOr<std::vector<Tensor>> AttentionOutputs(const KernelSpec& spec,
                                                     std::span<const Tensor> operands) {
  const Operand wide{model::TensorType{DType::kFloat32, {}}};
  const auto compute = [&](absl::string_view op, const model::AttributeMap& attributes,
                           std::vector<Tensor> inputs) -> absl::StatusOr<Tensor> {
    ReferenceNode node(op, attributes);
    for (const Tensor& input : inputs) {
      node.AddInput(Operand{model::StaticType(input.dtype(), input.dims())}, input, true);
    }
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, node.Evaluate({wide}));
    return std::move(outputs[0]);
  };
  const auto transposed = [&](const Tensor& tensor, absl::string_view name) {
    const model::Ints* permutation = spec.attributes.FindInts(name);
    if (permutation == nullptr) return compute("Identity", {}, {tensor});
    return compute("Transpose", {{"perm", *permutation}}, {tensor});
  };
  QUOTIENT_ASSIGN_OR_RETURN(const Tensor q, transposed(operands[0], "q_perm"));
  QUOTIENT_ASSIGN_OR_RETURN(const Tensor k, transposed(operands[1], "k_perm"));
  QUOTIENT_ASSIGN_OR_RETURN(const Tensor v, transposed(operands[2], "v_perm"));
  QUOTIENT_ASSIGN_OR_RETURN(Tensor scores, compute("MatMul", {}, {q, k}));
  const auto scale = static_cast<float>(spec.attributes.GetFloat("scale", 1));
  QUOTIENT_ASSIGN_OR_RETURN(scores, compute("Mul", {}, {scores, Tensor::Scalar(scale)}));
  if (spec.inputs.size() > 3) {
    QUOTIENT_ASSIGN_OR_RETURN(scores, compute("Add", {}, {scores, operands[3]}));
  }
  QUOTIENT_ASSIGN_OR_RETURN(scores, compute("Softmax", {{"axis", int64_t{-1}}}, {scores}));
  QUOTIENT_ASSIGN_OR_RETURN(Tensor y, compute("MatMul", {}, {scores, v}));
  QUOTIENT_ASSIGN_OR_RETURN(y, transposed(y, "y_perm"));
  return std::vector<Tensor>{Converted(y, spec.outputs[0].type.dtype)};
}

// Emulated device memory: bytes between canaries.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::span<const std::byte> content)
      : size_(content.size()), bytes_(size_ + 2 * kGuard + kAlignment, kCanary) {
    std::copy(content.begin(), content.end(), Begin());
  }
  explicit GuardedBuffer(size_t size) : GuardedBuffer(std::vector<std::byte>(size, kPoison)) {}

  void* data() { return &*Begin(); }
  std::span<const std::byte> content() { return {&*Begin(), size_}; }
  bool Intact() {
    const auto is_canary = [](std::byte byte) { return byte == kCanary; };
    return std::all_of(bytes_.begin(), Begin(), is_canary) &&
           std::all_of(Begin() + static_cast<std::ptrdiff_t>(size_), bytes_.end(), is_canary);
  }

 private:
  static constexpr size_t kAlignment = 256;
  static constexpr size_t kGuard = 1024;
  static constexpr std::byte kCanary{0xc5};
  static constexpr std::byte kPoison{0x7f};

  std::vector<std::byte>::iterator Begin() {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data()) + kGuard;
    const uintptr_t aligned = (address + kAlignment - 1) / kAlignment * kAlignment;
    return bytes_.begin() +
           static_cast<std::ptrdiff_t>(aligned - reinterpret_cast<uintptr_t>(bytes_.data()));
  }

  size_t size_;
  std::vector<std::byte> bytes_;
};

Tensor RandomTensor(Rng& rng, const model::TensorType& type) {
  std::vector<double> numbers(static_cast<size_t>(type.elements()));
  for (double& number : numbers) {
    if (model::IsFloat(type.dtype)) {
      number = rng.Uniform(-2, 2);
      if (rng.Below(2) == 0) number = std::round(number * 4) / 4;
    } else if (type.dtype == DType::kBool) {
      number = static_cast<double>(rng.Below(2));
    } else {
      number = static_cast<double>(rng.Below(6)) - 3;  // Unsigned types saturate at 0.
    }
  }
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  model::Store(type.dtype, bytes, 0, std::span<const double>(numbers));
  return tensor;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<EmulatedKernel>>> EmulateAll(
    std::span<const Program> programs) {
  std::vector<SourceKernel> sources;
  for (const Program& program : programs) {
    for (const Launch& launch : program.launches) {
      sources.push_back(std::get<SourceKernel>(launch.what));
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<EmulatedKernel> kernels, Emulate(sources));
  std::vector<std::vector<EmulatedKernel>> result;
  auto next = kernels.begin();
  for (const Program& program : programs) {
    const auto end = next + static_cast<std::ptrdiff_t>(program.launches.size());
    result.emplace_back(next, end);
    next = end;
  }
  return result;
}

absl::StatusOr<std::vector<Tensor>> RunProgram(const KernelSpec& spec, const Program& program,
                                               std::span<const EmulatedKernel> kernels,
                                               std::span<const Tensor> operands) {
  const std::vector<Operand> all = AllOperands(spec);
  std::vector<GuardedBuffer> buffers[4];  // By BufferRef::Kind.
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_there = all[i].type.dtype != DType::kUndefined && !all[i].constant;
    buffers[0].emplace_back(is_there ? Pack(operands[i], all[i].layout) : std::vector<std::byte>());
  }
  std::vector<const Tensor*> tensors;
  for (const Tensor& operand : operands) tensors.push_back(&operand);
  for (const PackedConstant& constant : program.constants) {
    buffers[1].emplace_back(Pack(constant, tensors));
  }
  for (const Operand& output : spec.outputs) {
    const bool is_there = output.type.dtype != DType::kUndefined;
    buffers[2].emplace_back(is_there ? static_cast<size_t>(output.type.bytes()) : size_t{0});
  }
  for (const int64_t bytes : program.temporaries) {
    buffers[3].emplace_back(static_cast<size_t>(bytes));
  }
  for (size_t i = 0; i < program.launches.size(); ++i) {
    std::vector<void*> addresses;
    for (const BufferRef& ref : program.launches[i].buffers) {
      addresses.push_back(buffers[static_cast<size_t>(ref.kind)][ref.index].data());
    }
    QUOTIENT_RETURN_IF_ERROR(kernels[i].Run(addresses));
  }
  for (std::vector<GuardedBuffer>& kind : buffers) {
    for (GuardedBuffer& buffer : kind) {
      if (!buffer.Intact()) return absl::InternalError("a kernel wrote beside its buffer");
    }
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    if (spec.outputs[i].type.dtype == DType::kUndefined) continue;
    outputs.push_back(Unpack(spec.outputs[i], buffers[2][i].content()));
  }
  return outputs;
}

absl::StatusOr<std::vector<Tensor>> ReferenceOutputs(const KernelSpec& spec,
                                                     std::span<const Tensor> operands) {
  if (spec.op == kReorderOp) return std::vector<Tensor>{operands[0]};
  if (spec.op == kAttentionOp) return AttentionOutputs(spec, operands);
  const bool widen = !spec.epilogue.empty();
  ReferenceNode main(spec.op, spec.attributes);
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    main.AddInput(spec.inputs[i], operands[i], widen);
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<Tensor> values, main.Evaluate(spec.outputs));
  size_t next = spec.inputs.size();
  for (const Epilogue& epilogue : spec.epilogue) {
    ReferenceNode node(epilogue.op, epilogue.attributes);
    if (!epilogue.running_is_second) node.AddInput(spec.outputs[0], values[0], widen);
    for (const Operand& operand : epilogue.operands) {
      node.AddInput(operand, operands[next++], widen);
    }
    if (epilogue.running_is_second) node.AddInput(spec.outputs[0], values[0], widen);
    QUOTIENT_ASSIGN_OR_RETURN(values, node.Evaluate(spec.outputs));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const DType wanted = spec.outputs[i].type.dtype;
    if (values[i].dtype() != wanted) values[i] = Converted(values[i], wanted);
  }
  return values;
}

std::vector<Tensor> RandomOperands(const KernelSpec& spec, uint64_t seed) {
  std::vector<Tensor> tensors;
  Rng rng(seed);
  for (const Operand& operand : AllOperands(spec)) {
    const bool left_out = operand.type.dtype == DType::kUndefined;
    tensors.push_back(left_out ? Tensor::Scalar(0) : RandomTensor(rng, operand.type));
  }
  // Makes variances positive and sets exponents. `operands` are those of a node after the running
  // value, which for the main node is the first one.
  const auto correct = [](absl::string_view op, const model::AttributeMap& attributes,
                          Tensor* operands) {
    if (op == "BatchNormalization")
      operands[3] = Mapped(operands[3], operands[3].dtype(), [](double x) { return x * x; });
    if (op == "Pow" && attributes.Has(kExponentAttribute)) {
      const double exponent = attributes.GetFloat(kExponentAttribute, 0);
      operands[0] = Mapped(operands[0], operands[0].dtype(), [=](double) { return exponent; });
    }
  };
  correct(spec.op, spec.attributes, tensors.data() + 1);
  Tensor* next = tensors.data() + spec.inputs.size();
  for (const Epilogue& epilogue : spec.epilogue) {
    correct(epilogue.op, epilogue.attributes, next);
    next += epilogue.operands.size();
  }
  return tensors;
}

}  // namespace quotient::kernels::cuda
