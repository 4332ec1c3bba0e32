// Softmax and LogSoftmax along an axis that is not the last one in memory, for which the kernel
// library has only its reference code.
//
// In memory such a tensor is a number of pieces, and a piece is a matrix whose columns are to be
// normalized. The loops run along its rows, where columns that are neighbours lie side by side:
//
//   1. The largest number of each column. The others are taken relative to it, so that no
//      exponential overflows.
//   2. The exponentials, and their sum in each column.
//   3. The quotients, or the differences from the logarithm of the sum.
//
// Short rows would leave most of a vector empty. Since the rows of a piece lie one behind the
// other, some of them are then treated as one wide row that has each column several times, and what
// was found for the parts of a column is combined after steps 1 and 2. Long rows are cut into
// blocks of columns, so that what one step leaves in the cache is there for the next.

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

// Floats in the longest vector, and the least number of floats that a loop is started for.
constexpr int64_t kVector = 16;
constexpr int64_t kLeastWidth = 128;
// Rows of this many floats are long: what does not fill a vector matters little.
constexpr int64_t kLongRow = 256;
// Floats of a block of columns, and bounds on its width.
constexpr int64_t kBlockFloats = 1 << 16;
constexpr int64_t kLeastBlock = 64;
constexpr int64_t kMostBlock = 1024;

class SoftmaxKernel : public PlainKernel {
 public:
  SoftmaxKernel(const KernelSpec& spec, const AxisInMemory& axis)
      : PlainKernel(spec), is_log_(spec.op == "LogSoftmax"), axis_(axis) {
    if (axis.inner < kLongRow) {
      block_ = axis.inner;
      rows_at_once_ = kVector / std::gcd(axis.inner, kVector);
      while (rows_at_once_ * axis.inner < kLeastWidth) rows_at_once_ *= 2;
      rows_at_once_ = std::min(rows_at_once_, axis.length);
    } else {
      const int64_t fitting = kBlockFloats / axis.length / kVector * kVector;
      block_ = std::min(std::clamp(fitting, kLeastBlock, kMostBlock), axis.inner);
    }
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* in = static_cast<const float*>(Data(buffers, 0));
    auto* out = static_cast<float*>(buffers.outputs[0]);
    const int64_t blocks = (axis_.inner + block_ - 1) / block_;
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / (axis_.length * block_));
    ParallelRanges(axis_.outer * blocks, grain, spec_.threads, [&](int64_t begin, int64_t end) {
      Columns columns(block_ * rows_at_once_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * block_;
        columns.count = std::min(block_, axis_.inner - first);
        const int64_t at = i / blocks * axis_.length * axis_.inner + first;
        Normalize(in + at, out + at, columns);
      }
    });
    return absl::OkStatus();
  }

 private:
  // What is known of the columns of a block, as often as a wide row has them.
  struct Columns {
    explicit Columns(int64_t width) : largest(width), sums(width), row(width) {}

    int64_t count = 0;
    std::vector<float> largest;
    std::vector<float> sums;
    std::vector<float> row;  // Scratch space.
  };

  // Calls use(offset, floats) for the rows of a block, or for the wide rows.
  template <typename Use>
  void ForEachRow(int64_t columns, const Use& use) const {
    int64_t row = 0;
    for (; row + rows_at_once_ <= axis_.length; row += rows_at_once_) {
      use(row * axis_.inner, rows_at_once_ * columns);
    }
    if (row < axis_.length) use(row * axis_.inner, (axis_.length - row) * columns);
  }

  // Combines what was found for the parts of each column.
  void Combine(BinaryFn fn, int64_t columns, float* values) const {
    for (int64_t part = 1; part < rows_at_once_; ++part) {
      BestLoops().binary(fn, values, values + part * columns, values, columns);
    }
    for (int64_t part = 1; part < rows_at_once_; ++part) {
      std::copy_n(values, columns, values + part * columns);
    }
  }

  void Normalize(const float* x, float* out, Columns& columns) const {
    const Loops& loops = BestLoops();
    const int64_t width = columns.count * rows_at_once_;
    float* const largest = columns.largest.data();
    float* const sums = columns.sums.data();

    std::fill_n(largest, width, -std::numeric_limits<float>::infinity());  // 1.
    ForEachRow(columns.count, [&](int64_t at, int64_t floats) {
      loops.binary(BinaryFn::kMax, largest, x + at, largest, floats);
    });
    Combine(BinaryFn::kMax, columns.count, largest);

    std::fill_n(sums, width, 0.0f);  // 2. The output may lie where the input does.
    ForEachRow(columns.count, [&](int64_t at, int64_t floats) {
      loops.exp_sum(x + at, largest, is_log_ ? columns.row.data() : out + at, sums, floats);
    });
    Combine(BinaryFn::kAdd, columns.count, sums);

    if (is_log_) {  // 3.
      loops.unary(ops::UnaryFunction::kLog, 0, 0, sums, sums, width);
    } else {
      loops.binary_left(BinaryFn::kDiv, 1, sums, sums, width);
    }
    ForEachRow(columns.count, [&](int64_t at, int64_t floats) {
      if (is_log_) {
        loops.binary(BinaryFn::kSub, x + at, largest, out + at, floats);
        loops.binary(BinaryFn::kSub, out + at, sums, out + at, floats);
      } else {
        loops.binary(BinaryFn::kMul, out + at, sums, out + at, floats);
      }
    });
  }

  const bool is_log_;
  const AxisInMemory axis_;
  int64_t block_ = 1;         // Columns of a block.
  int64_t rows_at_once_ = 1;  // Rows of a wide row. With more than one there is one block.
};

}  // namespace

std::unique_ptr<Kernel> MakeSoftmaxKernel(const KernelSpec& spec) {
  if ((spec.op != "Softmax" && spec.op != "LogSoftmax") || spec.inputs.size() != 1 ||
      spec.outputs.size() != 1 || !spec.epilogue.empty() ||
      spec.inputs[0].layout != spec.outputs[0].layout) {
    return nullptr;
  }
  const model::TensorType& type = spec.inputs[0].type;
  if (!StoredAsFloat(type.dtype) || type.rank() == 0 || type.elements() == 0) return nullptr;
  const int64_t axis = spec.attributes.GetInt("axis", -1);
  return std::make_unique<SoftmaxKernel>(
      spec, FindAxis(type.dims(), axis < 0 ? axis + type.rank() : axis, spec.inputs[0].layout));
}

}  // namespace quotient::kernels::cpu
