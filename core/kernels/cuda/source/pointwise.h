#pragma once

// The frame of kernels that compute each element of one output from the elements of their operands
// at the same position. It decides which thread reads what, in runs of 16 bytes where the layout
// allows.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/cuda/program/program.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::kernels::cuda {

// An operand, broadcast to the output. `compute` gets it as v0, v1, ..., of its ComputedType.
struct PointwiseInput {
  Operand operand;
  BufferRef buffer;
};

struct Pointwise {
  absl::string_view kernel;  // Its name.
  std::vector<PointwiseInput> inputs;
  Operand output;
  BufferRef output_buffer;
  // The functions that `compute` calls, and the body of `compute`, which returns the result in the
  // output's ComputedType or StoredType.
  absl::string_view functions;
  std::string body;
  absl::string_view result_type;
};

// Adds the launch, or none for an empty output. The output may overwrite a dense operand.
void AddPointwise(const Pointwise& pointwise, ProgramWriter& writer);

// Statements that read an operand's elements for `count` consecutive positions of the output,
// starting at `first`, into a Pack `x<number>`. They use the names T<number>, p<number>, Index and
// kPack.
std::string ReadPackText(const Operand& operand, const Operand& output, size_t number, int64_t pack,
                         absl::string_view index_type);

// The axes of the output in memory order, with the distances of the operand's elements.
std::vector<WalkAxis> BroadcastWalk(const Operand& operand, const Operand& output);

}  // namespace quotient::kernels::cuda
