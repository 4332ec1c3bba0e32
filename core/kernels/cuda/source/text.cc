#include "core/kernels/cuda/source/text.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {

using model::DType;

std::string StoredType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return "f16";
    case DType::kBfloat16:
      return "bf16";
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUint8:
      return "u8";
    case DType::kUint16:
      return "u16";
    case DType::kUint32:
      return "u32";
    case DType::kUint64:
      return "u64";
    case DType::kBool:
      return "bool";
    default:
      return "";
  }
}

std::string ComputedType(DType dtype) { return IsSingleFloat(dtype) ? "float" : StoredType(dtype); }

bool IsSingleFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

int64_t ElementBytes(DType dtype) {
  return model::IsComputable(dtype) ? model::DTypeBits(dtype) / 8 : 0;
}

std::string FloatLiteral(double value) {
  const auto rounded = static_cast<float>(value);
  if (!std::isfinite(rounded)) {
    return absl::StrFormat("float_of_bits(0x%08xu)", std::bit_cast<uint32_t>(rounded));
  }
  std::string text = absl::StrFormat("%.9g", rounded);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string IndexType(int64_t limit) {
  return limit <= std::numeric_limits<int32_t>::max() ? "u32" : "u64";
}

Definitions& Definitions::Type(absl::string_view name, absl::string_view type) {
  absl::StrAppend(&text_, "typedef ", type, " ", name, ";\n");
  return *this;
}

Definitions& Definitions::Int(absl::string_view name, int64_t value) {
  const bool fits = value == static_cast<int32_t>(value);
  absl::StrAppend(&text_, "constexpr ", fits ? "int " : "i64 ", name, " = ", value,
                  fits ? ";\n" : "ll;\n");
  return *this;
}

Definitions& Definitions::Float(absl::string_view name, double value) {
  absl::StrAppend(&text_, "#define ", name, " ", FloatLiteral(value), "\n");
  return *this;
}

Definitions& Definitions::Bool(absl::string_view name, bool value) {
  absl::StrAppend(&text_, "constexpr bool ", name, " = ", value ? "true" : "false", ";\n");
  return *this;
}

Definitions& Definitions::Ints(absl::string_view name, const std::vector<int64_t>& values) {
  absl::StrAppend(&text_, "__device__ const int ", name, "[] = {", absl::StrJoin(values, ", "),
                  "};\n");
  return *this;
}

Definitions& Definitions::Floats(absl::string_view name, const std::vector<float>& values) {
  const auto append = [](std::string* out, float value) { out->append(FloatLiteral(value)); };
  absl::StrAppend(&text_, "__device__ const float ", name, "[] = {",
                  absl::StrJoin(values, ", ", append), "};\n");
  return *this;
}

std::string OffsetText(const std::vector<WalkAxis>& axes, absl::string_view index,
                       absl::string_view type, int64_t base) {
  const char* const suffix = type == "u64" ? "ull" : "u";
  std::string added, subtracted;
  int64_t below = 1;  // Positions of the axes behind this one.
  for (size_t i = axes.size(); i-- > 0;) {
    const WalkAxis& axis = axes[i];
    const int64_t distance = std::abs(axis.stride);
    if (distance != 0) {
      std::string term(index);
      if (below != 1) absl::StrAppend(&term, " / ", below, suffix);
      if (i != 0) absl::StrAppend(&term, " % ", axis.count, suffix);
      if (distance != 1) absl::StrAppend(&term, " * ", distance, suffix);
      if (axis.stride > 0) {
        added = added.empty() ? term : absl::StrCat(term, " + ", added);
      } else {
        absl::StrAppend(&subtracted, " - ", term);
      }
    }
    below *= axis.count;
  }
  if (base != 0 || added.empty()) {
    added = absl::StrCat(base, suffix, added.empty() ? "" : " + ", added);
  }
  return added + subtracted;
}

std::string CoordinateText(const Operand& tensor, int axis, absl::string_view index,
                           absl::string_view type) {
  std::vector<WalkAxis> axes;
  for (const int other : PhysicalAxes(tensor.type.rank(), tensor.layout)) {
    axes.push_back({tensor.type.dim(other).number(), other == axis ? 1 : 0});
  }
  return OffsetText(axes, index, type);
}

void AppendAxis(std::vector<WalkAxis>& axes, WalkAxis axis) {
  if (axis.count == 1) return;
  if (!axes.empty() && axes.back().stride == axis.stride * axis.count) {
    axes.back() = {axes.back().count * axis.count, axis.stride};
  } else {
    axes.push_back(axis);
  }
}

int BlockFor(int64_t threads) {
  constexpr int64_t kBlocks = 256;  // So that most multiprocessors have one.
  for (const int block : {256, 128}) {
    if (threads >= block * kBlocks) return block;
  }
  return 64;
}

void ProgramWriter::Launch(absl::string_view kernel, absl::string_view text, int64_t grid,
                           int block, std::vector<BufferRef> buffers) {
  SourceKernel source{.source = absl::StrCat(kPrelude, text),
                      .name = std::string(kernel),
                      .grid = grid,
                      .block = block,
                      .num_buffers = static_cast<int>(buffers.size())};
  Add({std::move(source), std::move(buffers)});
}

}  // namespace quotient::kernels::cuda
