#pragma once

// Pieces of CUDA C++ text that every generator of kernels uses.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/kernels/cuda/program/program_builder.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

// The type of an element in memory, and the type it is computed in: "f16", "float"; "i64", "i64".
std::string StoredType(model::DType dtype);
std::string ComputedType(model::DType dtype);

// float16, bfloat16 or float32, which are computed in float.
bool IsSingleFloat(model::DType dtype);

// Bytes of an element in memory; 0 for types that no kernel supports.
int64_t ElementBytes(model::DType dtype);

// An expression of type float with exactly this value, rounded to float.
std::string FloatLiteral(double value);

// The unsigned type for indices up to `limit`: "u32" or "u64".
std::string IndexType(int64_t limit);

// The sizes, types and numbers at the beginning of a kernel's text.
class Definitions {
 public:
  Definitions& Type(absl::string_view name, absl::string_view type);
  // As int if it fits, otherwise as i64.
  Definitions& Int(absl::string_view name, int64_t value);
  // A macro, because infinity is not a constant expression without headers.
  Definitions& Float(absl::string_view name, double value);
  Definitions& Bool(absl::string_view name, bool value);
  // Tables in device memory, which must not be empty.
  Definitions& Ints(absl::string_view name, const std::vector<int64_t>& values);
  Definitions& Floats(absl::string_view name, const std::vector<float>& values);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// One axis of a walk over a tensor, and the distance of neighbours along it in elements.
struct WalkAxis {
  int64_t count;
  int64_t stride;
};

// An expression of type `type` for `base` plus the offset of position `index` (an expression
// without operators) in a walk, slowest axis first. Strides may be negative, the sum may not.
std::string OffsetText(const std::vector<WalkAxis>& axes, absl::string_view index,
                       absl::string_view type, int64_t base = 0);

// An expression for the coordinate along `axis` (logical) of position `index` of a tensor in
// memory.
std::string CoordinateText(const Operand& tensor, int axis, absl::string_view index,
                           absl::string_view type);

// Appends an axis, and joins it with the last one if both form one run. Drops axes of one item.
void AppendAxis(std::vector<WalkAxis>& axes, WalkAxis axis);

// Threads per block for a kernel with this many independent threads: fewer if there would otherwise
// be few blocks.
int BlockFor(int64_t threads);
inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Builds a program of Quotient's kernels.
class ProgramWriter : public ProgramBuilder {
 public:
  using ProgramBuilder::ProgramBuilder;

  // Adds a launch of the kernel `kernel`, which `text` defines. The prelude is put in front of
  // `text`.
  void Launch(absl::string_view kernel, absl::string_view text, int64_t grid, int block,
              std::vector<BufferRef> buffers);
};

}  // namespace quotient::kernels::cuda
