#include "core/kernels/cpu/strided.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/kernels/cpu/loops.h"
#include "core/kernels/cpu/omp.h"

namespace quotient::kernels::cpu {
namespace {

template <typename T>
void CopyItems(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  const T* source = reinterpret_cast<const T*>(from);
  T* target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < axis.count; ++i) target[i * axis.to] = source[i * axis.from];
}

template <typename T>
void FillItems(const std::byte* from, std::byte* to, int64_t count) {
  std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(from));
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyAxis> axes, int64_t item_bytes)
    : axes_(Simplify(std::move(axes))), item_bytes_(item_bytes) {
  const CopyAxis& last = axes_.back();
  if (last.to == 1 && last.from == 1) {
    inner_ = Inner::kRun;
  } else if (last.to == 1 && last.from == 0) {
    inner_ = Inner::kFill;
  } else if (last.to == 1 && item_bytes_ == 4) {
    // If some axis is contiguous on the reading side, transposes tiles of the two axes.
    const auto run = std::find_if(axes_.begin(), axes_.end() - 1,
                                  [](const CopyAxis& axis) { return axis.from == 1; });
    if (run != axes_.end() - 1) {
      std::rotate(run, run + 1, axes_.end() - 1);
      inner_ = Inner::kTranspose;
    }
  }
}

void StridedCopy::CopyInner(const std::byte* from, std::byte* to) const {
  const CopyAxis& last = axes_.back();
  if (inner_ == Inner::kRun) {
    std::memcpy(to, from, static_cast<size_t>(last.count * item_bytes_));
    return;
  }
  if (inner_ == Inner::kTranspose) {
    const CopyAxis& columns = axes_[axes_.size() - 2];  // Contiguous on the reading side.
    BestLoops().transpose32(reinterpret_cast<const uint32_t*>(from), last.from,
                            reinterpret_cast<uint32_t*>(to), columns.to, last.count, columns.count);
    return;
  }
  const bool fill = inner_ == Inner::kFill;
  switch (item_bytes_) {
    case 1:
      return fill ? FillItems<uint8_t>(from, to, last.count) : CopyItems<uint8_t>(from, to, last);
    case 2:
      return fill ? FillItems<uint16_t>(from, to, last.count) : CopyItems<uint16_t>(from, to, last);
    case 4:
      return fill ? FillItems<uint32_t>(from, to, last.count) : CopyItems<uint32_t>(from, to, last);
    default:
      return fill ? FillItems<uint64_t>(from, to, last.count) : CopyItems<uint64_t>(from, to, last);
  }
}

void StridedCopy::Run(const void* from, void* to, int threads) const {
  const size_t outer = axes_.size() - inner_axes();
  int64_t rows = 1, inner = 1;
  for (size_t i = 0; i < axes_.size(); ++i) (i < outer ? rows : inner) *= axes_[i].count;
  if (rows == 0 || inner == 0) return;
  constexpr int64_t kGrainBytes = 1 << 15;
  const int64_t grain = std::max<int64_t>(1, kGrainBytes / (inner * item_bytes_));
  ParallelRanges(rows, grain, threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(outer);
    int64_t source = 0, target = 0, rest = begin;
    for (size_t i = outer; i-- > 0;) {
      index[i] = rest % axes_[i].count;
      rest /= axes_[i].count;
      source += index[i] * axes_[i].from;
      target += index[i] * axes_[i].to;
    }
    for (int64_t row = begin; row < end; ++row) {
      CopyInner(static_cast<const std::byte*>(from) + source * item_bytes_,
                static_cast<std::byte*>(to) + target * item_bytes_);
      for (size_t i = outer; i-- > 0;) {
        source += axes_[i].from;
        target += axes_[i].to;
        if (++index[i] < axes_[i].count) break;
        source -= axes_[i].count * axes_[i].from;
        target -= axes_[i].count * axes_[i].to;
        index[i] = 0;
      }
    }
  });
}

}  // namespace quotient::kernels::cpu
