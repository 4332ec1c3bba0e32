#pragma once

// The frame of kernels that look at a row of neighbouring elements more than once: a group of
// threads for each row, which keeps the row in registers where it is short enough.

#include <cstdint>
#include <string>

#include "core/kernels/cuda/source/text.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

struct RowPlan {
  int64_t rows = 0;
  int64_t length = 0;  // of a row, in elements
  int64_t pack = 1;    // elements that are read at once
  int64_t group = 1;   // threads for a row; a power of two
  int64_t block = 1;   // threads; whole groups
  int64_t steps = 1;   // packs per thread
  bool held = true;    // rows stay in registers

  int64_t grid() const { return CeilDiv(rows, block / group); }
};

RowPlan PlanRows(int64_t rows, int64_t length, int64_t element_bytes);

// The plan as constants, and functions that read and write packs of a row of T; with
// kReducePrelude.
std::string RowText(const RowPlan& plan, model::DType dtype);

}  // namespace quotient::kernels::cuda
