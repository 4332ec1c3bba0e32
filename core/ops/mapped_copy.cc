#include "core/ops/mapped_copy.h"

#include <cstring>

#include "core/base/parallel.h"
#include "core/ops/support.h"

namespace quotient::ops {

using model::Tensor;

Tensor MappedCopy(const Tensor& input, std::span<const std::vector<int64_t>> maps,
                  const Tensor& border, int threads) {
  std::vector<int64_t> dims;
  for (const std::vector<int64_t>& map : maps) dims.push_back(static_cast<int64_t>(map.size()));
  NewTensor result(model::StaticType(input.dtype(), dims));
  const std::vector<int64_t> strides = RowMajorStrides(input.dims());
  const int64_t size = ElementBytes(input.dtype());
  const auto copy = [&](int64_t begin, int64_t end) {
    BoxIndex index(dims, begin);
    for (int64_t at = begin; at < end; ++at, index.Next()) {
      int64_t offset = 0;
      for (size_t i = 0; i < maps.size() && offset != kBorder; ++i) {
        const int64_t source = maps[i][static_cast<size_t>(index[i])];
        offset = source == kBorder ? kBorder : offset + source * strides[i];
      }
      const std::byte* from =
          offset == kBorder ? border.bytes().data() : input.bytes().data() + offset * size;
      std::memcpy(result.bytes.data() + at * size, from, static_cast<size_t>(size));
    }
  };
  ParallelFor(Count(dims), 1 << 14, threads, copy);
  return std::move(result.tensor);
}

}  // namespace quotient::ops
