// Sums, means and maxima along axes. After axes are joined, the fastest one in memory is either
// reduced (each row is summed) or kept (rows are added up), so every inner loop reads contiguous
// memory.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu/make_kernel.h"
#include "core/kernels/cpu/omp.h"
#include "core/kernels/layout.h"
#include "core/kernels/reduced_axes.h"
#include "core/kernels/storage.h"

namespace quotient::kernels::cpu {
namespace {

enum class Reduction { kSum, kMean, kMax };

struct Axis {
  int64_t count;
  int64_t from;  // Distance of neighbours in the input, in elements.
  int64_t to;    // The same in the output; 0 for reduced axes.
};

// Iterates over all indices of some axes.
class Walk {
 public:
  explicit Walk(const std::vector<Axis>& axes) : axes_(axes), index_(axes.size(), 0) {}

  void MoveTo(int64_t position) {
    from = to = 0;
    for (size_t i = axes_.size(); i-- > 0;) {
      index_[i] = position % axes_[i].count;
      position /= axes_[i].count;
      from += index_[i] * axes_[i].from;
      to += index_[i] * axes_[i].to;
    }
  }
  void Next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      from += axes_[i].from;
      to += axes_[i].to;
      if (++index_[i] < axes_[i].count) return;
      from -= axes_[i].count * axes_[i].from;
      to -= axes_[i].count * axes_[i].to;
      index_[i] = 0;
    }
  }

  int64_t from = 0;
  int64_t to = 0;

 private:
  const std::vector<Axis>& axes_;
  std::vector<int64_t> index_;
};

int64_t Count(const std::vector<Axis>& axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1},
                         [](int64_t product, const Axis& axis) { return product * axis.count; });
}

class ReduceKernel : public PlainKernel {
 public:
  ReduceKernel(const KernelSpec& spec, Reduction reduction, const std::vector<bool>& reduced)
      : PlainKernel(spec), reduction_(reduction) {
    const std::vector<int64_t> dims = spec.inputs[0].type.dims();
    const std::vector<int64_t> strides = StridesOf(dims, spec.inputs[0].layout);
    const std::vector<int64_t> out = ReducedStrides(spec, reduced);
    for (int axis : PhysicalAxes(static_cast<int>(dims.size()), spec.inputs[0].layout)) {
      if (dims[axis] == 1) continue;
      Append(reduced[axis] ? reduced_ : kept_, {dims[axis], strides[axis], out[axis]});
    }
    const bool rows = !reduced_.empty() && reduced_.back().from == 1;
    if (rows) {
      inner_ = reduced_.back();
      reduced_.pop_back();
    } else if (!kept_.empty() && kept_.back().from == 1) {
      inner_ = kept_.back();
      kept_.pop_back();
    }
    inner_reduced_ = rows;
    reduced_count_ = Count(reduced_) * (rows ? inner_.count : 1);
  }

  absl::Status Run(const KernelBuffers& buffers, KernelState*) const override {
    const auto* in = static_cast<const float*>(Data(buffers, 0));
    auto* out = static_cast<float*>(buffers.outputs[0]);
    const int64_t work = std::max<int64_t>(1, inner_.count * Count(reduced_));
    const int64_t grain = std::max<int64_t>(1, (1 << 14) / work);
    ParallelRanges(Count(kept_), grain, spec_.threads, [&](int64_t begin, int64_t end) {
      std::vector<float> sums(inner_reduced_ ? 0 : static_cast<size_t>(inner_.count));
      Walk kept(kept_);
      kept.MoveTo(begin);
      for (int64_t i = begin; i < end; ++i, kept.Next()) {
        if (inner_reduced_) {
          out[kept.to] = Finish(ReduceRows(in + kept.from));
        } else {
          AddRows(in + kept.from, sums);
          for (int64_t k = 0; k < inner_.count; ++k) out[kept.to + k * inner_.to] = Finish(sums[k]);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  static void Append(std::vector<Axis>& axes, const Axis& axis) {
    if (!axes.empty() && axes.back().from == axis.from * axis.count &&
        axes.back().to == axis.to * axis.count) {
      axes.back() = {axes.back().count * axis.count, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }

  float ReduceRows(const float* in) const {
    const Loops& loops = BestLoops();
    Walk walk(reduced_);
    const int64_t rows = Count(reduced_);
    double sum = 0;
    float best = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < rows; ++i, walk.Next()) {
      if (reduction_ == Reduction::kMax) {
        const float largest = loops.max(in + walk.from, inner_.count);
        if (largest > best || std::isnan(largest)) best = largest;
      } else {
        sum += loops.sum(in + walk.from, inner_.count);
      }
    }
    return reduction_ == Reduction::kMax ? best : static_cast<float>(sum);
  }

  void AddRows(const float* in, std::vector<float>& sums) const {
    const bool max = reduction_ == Reduction::kMax;
    const BinaryFn combine = max ? BinaryFn::kMax : BinaryFn::kAdd;
    std::fill(sums.begin(), sums.end(), max ? -std::numeric_limits<float>::infinity() : 0.0f);
    Walk walk(reduced_);
    const int64_t rows = Count(reduced_);
    for (int64_t i = 0; i < rows; ++i, walk.Next()) {
      BestLoops().binary(combine, sums.data(), in + walk.from, sums.data(), inner_.count);
    }
  }

  float Finish(float value) const {
    return reduction_ == Reduction::kMean ? value / static_cast<float>(reduced_count_) : value;
  }

  const Reduction reduction_;
  std::vector<Axis> kept_;     // Without the inner one.
  std::vector<Axis> reduced_;  // Without the inner one.
  Axis inner_{1, 1, 1};
  bool inner_reduced_ = false;
  int64_t reduced_count_ = 1;
};

struct NamedReduction {
  const char* name;
  Reduction reduction;
};
constexpr NamedReduction kReductions[] = {
    {"ReduceSum", Reduction::kSum},     {"ReduceMean", Reduction::kMean},
    {"ReduceMax", Reduction::kMax},     {"GlobalAveragePool", Reduction::kMean},
    {"GlobalMaxPool", Reduction::kMax},
};

}  // namespace

std::unique_ptr<Kernel> MakeReduceKernel(const KernelSpec& spec) {
  const auto* row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                 [&](const NamedReduction& r) { return spec.op == r.name; });
  if (row == std::end(kReductions) || spec.inputs.size() != 1 || !spec.epilogue.empty() ||
      !StoredAsFloat(spec.inputs[0].type.dtype) || spec.inputs[0].type.elements() == 0) {
    return nullptr;
  }
  const bool nothing_reduced = spec.attributes.GetInts("axes").empty() &&
                               spec.attributes.GetInt("noop_with_empty_axes", 0) != 0;
  if (nothing_reduced) return nullptr;
  return std::make_unique<ReduceKernel>(spec, row->reduction, ReducedAxes(spec));
}

}  // namespace quotient::kernels::cpu
