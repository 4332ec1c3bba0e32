// The fused element-wise kernel. It computes the output in blocks that stay in the first-level
// cache. Each node of the chain is one vectorized loop over the block, so memory is read and
// written once, however long the chain is.

#include <cmath>
#include <optional>

#include "core/kernels/cpu/block_reader.h"
#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/fusion.h"
#include "core/kernels/storage.h"
#include "core/kernels/unary_call.h"

namespace quotient::kernels::cpu {
namespace {

constexpr int64_t kBlock = 1024;

// One node of the chain.
struct Step {
  enum class Kind { kUnary, kBinary, kAffine };
  Kind kind = Kind::kUnary;
  ops::UnaryFunction unary = ops::UnaryFunction::kNone;
  BinaryFn binary = BinaryFn::kAdd;
  float alpha = 0;
  float beta = 0;
  bool running_is_second = false;
  // kBinary: the operand. kAffine: the first of two packed constants, scale and shift.
  int operand = -1;
  std::optional<BlockReader> reader;
};

struct NamedBinary {
  const char* name;
  BinaryFn fn;
};
constexpr NamedBinary kBinaryFns[] = {
    {"Add", BinaryFn::kAdd}, {"Sub", BinaryFn::kSub}, {"Mul", BinaryFn::kMul},
    {"Div", BinaryFn::kDiv}, {"Max", BinaryFn::kMax}, {"Min", BinaryFn::kMin},
    {"Pow", BinaryFn::kPow},
};

std::optional<Step> MakeUnary(absl::string_view op, const model::AttributeMap& attributes) {
  const std::optional<UnaryCall> call = UnaryCallOf(op, attributes);
  if (!call) return std::nullopt;
  return Step{.unary = call->function,
              .alpha = static_cast<float>(call->first),
              .beta = static_cast<float>(call->second)};
}

std::optional<BinaryFn> FindBinary(absl::string_view op) {
  for (const NamedBinary& row : kBinaryFns) {
    if (op == row.name) return row.fn;
  }
  return std::nullopt;
}

class ChainKernel : public Kernel {
 public:
  explicit ChainKernel(const KernelSpec& spec)
      : operands_(AllOperands(spec)),
        output_(spec.outputs[0]),
        threads_(spec.threads),
        packed_index_(operands_.size(), -1),
        first_(operands_[0], output_) {
    AddNode(spec.op, spec.attributes, 1, false);
    int next = static_cast<int>(spec.inputs.size());
    for (const Epilogue& epilogue : spec.epilogue) {
      AddNode(epilogue.op, epilogue.attributes, next, epilogue.running_is_second);
      next += static_cast<int>(epilogue.operands.size());
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].constant || packed_index_[i] != -1) continue;
      packed_index_[i] = AddConstant(StorageBytes(operands_[i].type));
    }
  }

  absl::Status Pack(std::span<const model::Tensor* const> operands,
                    std::span<void* const> packed) const override {
    for (const Normalization& norm : normalizations_) PackNormalization(norm, operands, packed);
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (packed_index_[i] < 0 || packed[packed_index_[i]] == nullptr) continue;
      PackTensor(*operands[i], operands_[i].layout, packed[packed_index_[i]]);
    }
    return absl::OkStatus();
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    constexpr int64_t kGrain = 16;  // Blocks.
    const int64_t total = output_.type.elements();
    const int64_t blocks = (total + kBlock - 1) / kBlock;
    ParallelRanges(blocks, kGrain, threads_, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t start = block * kBlock;
        RunBlock(buffers, start, std::min(kBlock, total - start));
      }
    });
    return absl::OkStatus();
  }

 private:
  // A BatchNormalization, which is packed into scale and shift.
  struct Normalization {
    int operand;  // Scale; bias, mean and variance follow.
    int packed;   // Scale; shift follows.
    double epsilon;
  };

  int AddConstant(int64_t bytes) {
    constants_.push_back({bytes, true});
    return static_cast<int>(constants_.size()) - 1;
  }

  // Adds a node. Its operands other than the running value begin at `operand`.
  void AddNode(absl::string_view op, const model::AttributeMap& attributes, int operand,
               bool running_is_second) {
    if (op == "BatchNormalization") return AddNormalization(attributes, operand);
    if (std::optional<Step> unary = MakeUnary(op, attributes)) {
      steps_.push_back(std::move(*unary));
      return;
    }
    steps_.push_back(Step{.kind = Step::Kind::kBinary,
                          .binary = *FindBinary(op),
                          .running_is_second = running_is_second,
                          .operand = operand,
                          .reader = BlockReader(operands_[operand], output_)});
  }

  void AddNormalization(const model::AttributeMap& attributes, int operand) {
    constexpr int kPackedOtherwise = -2;
    const int64_t channels = operands_[operand].type.elements();
    const int packed = AddConstant(channels * static_cast<int64_t>(sizeof(float)));
    AddConstant(channels * static_cast<int64_t>(sizeof(float)));
    for (int i = 0; i < 4; ++i) packed_index_[operand + i] = kPackedOtherwise;
    normalizations_.push_back({operand, packed, attributes.GetFloat("epsilon", 1e-5)});
    std::vector<int64_t> dims(output_.type.rank() - 1, 1);
    dims[0] = channels;  // [C, 1, 1] against [N, C, H, W]
    const Operand vector{model::StaticType(model::DType::kFloat32, dims), true};
    steps_.push_back(Step{
        .kind = Step::Kind::kAffine, .operand = packed, .reader = BlockReader(vector, output_)});
  }

  static void PackNormalization(const Normalization& norm,
                                std::span<const model::Tensor* const> operands,
                                std::span<void* const> packed) {
    float* scale = static_cast<float*>(packed[norm.packed]);
    float* shift = static_cast<float*>(packed[norm.packed + 1]);
    if (scale == nullptr || shift == nullptr) return;
    const model::Tensor& gamma = *operands[norm.operand];
    const model::Tensor& beta = *operands[norm.operand + 1];
    const model::Tensor& mean = *operands[norm.operand + 2];
    const model::Tensor& variance = *operands[norm.operand + 3];
    for (int64_t c = 0; c < gamma.elements(); ++c) {
      const double factor = gamma.GetDouble(c) / std::sqrt(variance.GetDouble(c) + norm.epsilon);
      scale[c] = static_cast<float>(factor);
      shift[c] = static_cast<float>(beta.GetDouble(c) - mean.GetDouble(c) * factor);
    }
  }

  const float* Data(const KernelBuffers& buffers, int operand) const {
    const int packed = packed_index_[operand];
    return static_cast<const float*>(packed >= 0 ? buffers.constants[packed]
                                                 : buffers.operands[operand]);
  }

  void RunBlock(const KernelBuffers& buffers, int64_t begin, int64_t count) const {
    alignas(64) float running[kBlock];
    float* out = static_cast<float*>(buffers.outputs[0]) + begin;
    const float* value = first_.Read(Data(buffers, 0), begin, count, running);
    // Only the last step writes the output, which may overlap an operand that is read again.
    for (const Step& step : steps_) {
      float* target = &step == &steps_.back() ? out : running;
      RunStep(step, buffers, begin, count, value, target);
      value = target;
    }
  }

  void RunStep(const Step& step, const KernelBuffers& buffers, int64_t begin, int64_t count,
               const float* value, float* target) const {
    const Loops& loops = BestLoops();
    alignas(64) float buffer[kBlock];
    switch (step.kind) {
      case Step::Kind::kUnary:
        return loops.unary(step.unary, step.alpha, step.beta, value, target, count);
      case Step::Kind::kAffine: {
        const float* scale = static_cast<const float*>(buffers.constants[step.operand]);
        const float* shift = static_cast<const float*>(buffers.constants[step.operand + 1]);
        if (step.reader->is_scalar()) {
          return loops.affine_scalar(value, *scale, *shift, target, count);
        }
        alignas(64) float more[kBlock];
        return loops.affine(value, step.reader->Read(scale, begin, count, buffer),
                            step.reader->Read(shift, begin, count, more), target, count);
      }
      case Step::Kind::kBinary: {
        const float* other = Data(buffers, step.operand);
        if (step.reader->is_scalar()) {
          if (step.running_is_second) {
            return loops.binary_left(step.binary, *other, value, target, count);
          }
          return loops.binary_right(step.binary, value, *other, target, count);
        }
        other = step.reader->Read(other, begin, count, buffer);
        if (step.running_is_second) std::swap(value, other);
        return loops.binary(step.binary, value, other, target, count);
      }
    }
  }

  const std::vector<Operand> operands_;
  const Operand output_;
  const int threads_;
  std::vector<int>
      packed_index_;  // By operand: index of the packed constant; negative if it has none.
  BlockReader first_;
  std::vector<Step> steps_;
  std::vector<Normalization> normalizations_;
};

}  // namespace

std::unique_ptr<Kernel> MakeChainKernel(const KernelSpec& spec) {
  if (spec.outputs.size() != 1 || spec.inputs.empty()) return nullptr;
  const ElementwiseNode node{spec.op, spec.attributes, spec.inputs, spec.outputs[0].type};
  if (!IsChainNode(node)) return nullptr;
  return std::make_unique<ChainKernel>(spec);
}

}  // namespace quotient::kernels::cpu
