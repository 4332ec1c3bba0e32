#pragma once

// The frame of kernels that read a row of contiguous elements more than once. A group of threads
// handles each row, and keeps it in registers if it is short enough.

#include <cstdint>
#include <string>

#include "core/kernels/cuda/source/text.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

struct RowPlan {
  int64_t rows = 0;
  int64_t length = 0;  // Elements of a row.
  int64_t pack = 1;    // Elements that are read at once.
  int64_t group = 1;   // Threads per row; a power of two.
  int64_t block = 1;   // Threads per block; whole groups.
  int64_t steps = 1;   // Packs per thread.
  bool held = true;    // Rows stay in registers.

  int64_t grid() const { return CeilDiv(rows, block / group); }
};

RowPlan PlanRows(int64_t rows, int64_t length, int64_t element_bytes);

// The plan as constants, and functions that read and write packs of a row of T. Includes
// kReducePrelude.
std::string RowText(const RowPlan& plan, model::DType dtype);

}  // namespace quotient::kernels::cuda
