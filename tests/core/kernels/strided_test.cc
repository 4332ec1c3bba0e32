// Strided copies of random boxes against one element at a time.

#include "core/kernels/cpu/strided.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/base/rng.h"

namespace quotient::kernels::cpu {
namespace {

void NaiveCopy(const std::vector<CopyAxis>& axes, size_t axis, int64_t item, const std::byte* from,
               std::byte* to) {
  if (axis == axes.size()) {
    std::memcpy(to, from, static_cast<size_t>(item));
    return;
  }
  for (int64_t i = 0; i < axes[axis].count; ++i) {
    NaiveCopy(axes, axis + 1, item, from + i * axes[axis].from * item,
              to + i * axes[axis].to * item);
  }
}

// Strides of a packed box whose axes lie in a random order; some are broadcast or reversed on the
// reading side. Returns the offset of the first item read.
int64_t RandomAxes(Rng& rng, std::vector<CopyAxis>* axes) {
  const size_t rank = 1 + rng.Below(4);
  axes->assign(rank, {});
  for (CopyAxis& axis : *axes) axis.count = static_cast<int64_t>(1 + rng.Below(20));
  for (auto member : {&CopyAxis::from, &CopyAxis::to}) {
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = i;
    for (size_t i = rank; i-- > 1;) std::swap(order[i], order[rng.Below(i + 1)]);
    int64_t stride = 1;
    for (size_t i : order) {
      (*axes)[i].*member = stride;
      stride *= (*axes)[i].count;
    }
  }
  int64_t offset = 0;
  for (CopyAxis& axis : *axes) {
    const uint64_t kind = rng.Below(6);
    if (kind == 0) axis.from = 0;
    if (kind == 1) {
      offset += axis.from * (axis.count - 1);
      axis.from = -axis.from;
    }
  }
  return offset;
}

TEST(StridedCopyTest, MovesWhatOneElementAtATimeMoves) {
  Rng rng(11);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<CopyAxis> axes;
    const int64_t offset = RandomAxes(rng, &axes);
    const int64_t item = int64_t{1} << rng.Below(4);
    int64_t items = 1;
    for (const CopyAxis& axis : axes) items *= axis.count;
    std::vector<std::byte> from(static_cast<size_t>(items * item));
    for (std::byte& byte : from) byte = static_cast<std::byte>(rng.Next());
    std::vector<std::byte> expected(from.size()), actual(from.size());
    NaiveCopy(axes, 0, item, from.data() + offset * item, expected.data());
    StridedCopy(axes, item).Run(from.data() + offset * item, actual.data(), 1);
    ASSERT_EQ(expected, actual) << "trial " << trial;
  }
}

TEST(StridedCopyTest, EmptyBoxMovesNothing) {
  std::byte target{7};
  StridedCopy({{0, 1, 1}, {5, 1, 1}}, 1).Run(nullptr, &target, 1);
  EXPECT_EQ(target, std::byte{7});
}

}  // namespace
}  // namespace quotient::kernels::cpu
