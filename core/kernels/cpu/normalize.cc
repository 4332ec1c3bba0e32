#include <cmath>

#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

// InstanceNormalization of a plain tensor: one row per image and channel.
class InstanceNormKernel : public PlainKernel {
 public:
  explicit InstanceNormKernel(const KernelSpec& spec) : PlainKernel(spec) {
    const model::TensorType& type = spec.inputs[0].type;
    channels_ = type.dim(1).number();
    rows_ = type.dim(0).number() * channels_;
    columns_ = rows_ == 0 ? 0 : type.elements() / rows_;
    epsilon_ = spec.attributes.GetFloat("epsilon", 1e-5);
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* in = static_cast<const float*>(Data(buffers, 0));
    const auto* gamma = static_cast<const float*>(Data(buffers, 1));
    const auto* beta = static_cast<const float*>(Data(buffers, 2));
    auto* out = static_cast<float*>(buffers.outputs[0]);
    const int64_t grain = std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(columns_, 1));
    ParallelRanges(rows_, grain, spec_.threads, [&](int64_t begin, int64_t end) {
      const Loops& loops = BestLoops();
      for (int64_t row = begin; row < end; ++row) {
        const float* x = in + row * columns_;
        const double mean = loops.sum(x, columns_) / static_cast<double>(columns_);
        const double variance = loops.sum_squares(x, static_cast<float>(mean), columns_) /
                                static_cast<double>(columns_);
        const double scale = gamma[row % channels_] / std::sqrt(variance + epsilon_);
        loops.affine_scalar(x, static_cast<float>(scale),
                            static_cast<float>(beta[row % channels_] - mean * scale),
                            out + row * columns_, columns_);
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t channels_ = 0;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  double epsilon_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> MakeNormalizeKernel(const KernelSpec& spec) {
  if (spec.op != "InstanceNormalization" || spec.inputs.size() != 3 || spec.outputs.size() != 1 ||
      !StoredAsFloat(spec.inputs[0].type.dtype) || spec.inputs[0].type.rank() < 2 ||
      spec.inputs[0].layout != Layout::kPlain || spec.outputs[0].layout != Layout::kPlain) {
    return nullptr;
  }
  return std::make_unique<InstanceNormKernel>(spec);
}

}  // namespace quotient::kernels::cpu
