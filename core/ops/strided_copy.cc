#include "core/ops/strided_copy.h"

#include <cstring>
#include <vector>

#include "core/base/parallel.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

// The axes of a copy, without those of size 1; neighbours are joined where both sides are evenly
// spaced.
struct Axes {
  std::vector<int64_t> dims;
  std::vector<int64_t> from;
  std::vector<int64_t> to;
};

Axes Joined(const StridedCopy& copy) {
  Axes axes;
  for (size_t i = 0; i < copy.dims.size(); ++i) {
    const int64_t dim = copy.dims[i];
    if (dim == 1) continue;
    const int64_t from = copy.from_strides[i];
    const int64_t to = copy.to_strides[i];
    if (!axes.dims.empty() && axes.from.back() == from * dim && axes.to.back() == to * dim) {
      axes.dims.back() *= dim;
      axes.from.back() = from;
      axes.to.back() = to;
    } else {
      axes.dims.push_back(dim);
      axes.from.push_back(from);
      axes.to.push_back(to);
    }
  }
  if (axes.dims.empty()) axes = {{1}, {1}, {1}};
  return axes;
}

// Copies one run along the innermost axis. kBytes is the size of an element.
template <int kBytes>
void CopyRun(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
             int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride * kBytes, from + i * from_stride * kBytes, kBytes);
  }
}

void CopyAnyRun(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
                int64_t count, int element_bytes) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, count * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      return CopyRun<1>(from, from_stride, to, to_stride, count);
    case 2:
      return CopyRun<2>(from, from_stride, to, to_stride, count);
    case 4:
      return CopyRun<4>(from, from_stride, to, to_stride, count);
    default:
      return CopyRun<8>(from, from_stride, to, to_stride, count);
  }
}

}  // namespace

void Copy(const StridedCopy& copy, std::span<const std::byte> from, std::span<std::byte> to,
          int element_bytes, int threads) {
  if (Count(copy.dims) == 0) return;
  const Axes axes = Joined(copy);
  const int64_t inner = axes.dims.back();
  const std::span<const int64_t> outer(axes.dims.data(), axes.dims.size() - 1);
  const int64_t grain = 1 + (1 << 16) / inner;
  ParallelFor(Count(outer), grain, threads, [&](int64_t begin, int64_t end) {
    BoxIndex row(outer, begin);
    for (int64_t i = begin; i < end; ++i, row.Next()) {
      const int64_t read = copy.from_offset + row.Offset(axes.from);
      const int64_t write = copy.to_offset + row.Offset(axes.to);
      CopyAnyRun(from.data() + read * element_bytes, axes.from.back(),
                 to.data() + write * element_bytes, axes.to.back(), inner, element_bytes);
    }
  });
}

}  // namespace quotient::ops
