#pragma once

// Reads an operand as if broadcast to the output, by ranges in the output's memory order.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cpu {

class BlockReader {
 public:
  // `operand` must be broadcastable to `output`.
  BlockReader(const Operand& operand, const Operand& output);

  // Whether one element serves for the whole output.
  bool is_scalar() const { return kind_ == Kind::kScalar; }
  // Whether the operand lies like the output: position i of the output is item i.
  bool is_dense() const { return kind_ == Kind::kDense; }

  // The operand's items for positions [begin, begin + count): a pointer into `data` if they are
  // contiguous there, otherwise gathered into `buffer`.
  template <typename T>
  const T* Read(const T* data, int64_t begin, int64_t count, T* buffer) const {
    if (kind_ == Kind::kDense) return data + begin;
    if (kind_ == Kind::kScalar) {
      std::fill_n(buffer, count, *data);
    } else {
      Gather(data, begin, count, buffer);
    }
    return buffer;
  }

 private:
  enum class Kind { kScalar, kDense, kStrided };
  struct Axis {
    int64_t count;
    int64_t stride;
  };

  template <typename T>
  void Gather(const T* data, int64_t begin, int64_t count, T* out) const;
  // The offset of row `row`, counting over all axes except the last.
  int64_t RowOffset(int64_t row) const;

  Kind kind_ = Kind::kStrided;
  std::vector<Axis> axes_;  // Slowest first.
};

template <typename T>
void BlockReader::Gather(const T* data, int64_t begin, int64_t count, T* out) const {
  const Axis& inner = axes_.back();
  int64_t row = begin / inner.count;
  int64_t column = begin % inner.count;
  while (count > 0) {
    const T* from = data + RowOffset(row) + column * inner.stride;
    const int64_t run = std::min(count, inner.count - column);
    if (inner.stride == 1) {
      std::copy_n(from, run, out);
    } else if (inner.stride == 0) {
      std::fill_n(out, run, *from);
    } else {
      for (int64_t i = 0; i < run; ++i) out[i] = from[i * inner.stride];
    }
    out += run;
    count -= run;
    column = 0;
    ++row;
  }
}

}  // namespace quotient::kernels::cpu
