// Normalizations of rows of neighbouring elements: LayerNormalization and RMSNormalization over the
// trailing axes, InstanceNormalization and GroupNormalization over groups of channels, whose planes
// follow each other. Moments are taken in two passes.

#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/pointwise.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/rows.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// Behind the parameters: in, p1 (the scale), p2 (the bias, if there is one), out.
constexpr char kBegin[] = R"() {
  const Row row;
  float x[kHeld ? kSteps * kPack : kPack];
  float mean = 0;
  if (kAroundMean || kHeld) {
    float sum = 0;
#pragma unroll (kUnroll)
    for (int step = 0; step < kSteps; ++step) {
      float* const values = x + (kHeld ? step * kPack : 0);
      row.read(in, step, 0.0f, values);
#pragma unroll
      for (int k = 0; k < kPack; ++k) sum += values[k];
    }
    if (kAroundMean) mean = combine_group(sum, Add()) / (float)kLength;
  }

  float squares = 0;
#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    float* const values = x + (kHeld ? step * kPack : 0);
    if (!kHeld) row.read(in, step, 0.0f, values);
    if (!row.has(step)) continue;
#pragma unroll
    for (int k = 0; k < kPack; ++k) squares += (values[k] - mean) * (values[k] - mean);
  }
  const float variance = combine_group(squares, Add()) / (float)kLength;
  const float factor = 1.0f / sqrtf(variance + kEpsilon);

#pragma unroll (kUnroll)
  for (int step = 0; step < kSteps; ++step) {
    if (!row.has(step)) continue;
    float* const values = x + (kHeld ? step * kPack : 0);
    if (!kHeld) row.read(in, step, 0.0f, values);
    const Index first = row.begin + row.at(step);
    const int count = kPack;
)";
constexpr char kEnd[] = R"(
    Pack<T, kPack> results;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      results.at[k] = narrow<T>((values[k] - mean) * factor * widen(x1.at[k]) + widen(x2.at[k]));
    }
    store_pack(out + first, results);
  }
}
)";

struct Normalization {
  bool around_mean = true;
  int64_t length = 0;   // of a row
  Operand scale, bias;  // as they are broadcast to the input; a bias left out has no type
};

std::optional<Normalization> OverTrailingAxes(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = spec.attributes.GetInt("axis", -1);
  if (axis < 0) axis += rank;
  Normalization result{
      .around_mean = spec.op == "LayerNormalization",
      .length = std::accumulate(dims.begin() + axis, dims.end(), int64_t{1}, std::multiplies<>()),
      .scale = spec.inputs[1]};
  if (spec.inputs.size() > 2) result.bias = spec.inputs[2];
  return result;
}

std::optional<Normalization> OverGroups(const KernelSpec& spec) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  if (dims.size() < 2 || spec.inputs.size() != 3) return std::nullopt;
  const int64_t channels = dims[1];
  const int64_t groups =
      spec.op == "InstanceNormalization" ? channels : spec.attributes.GetInt("num_groups", 1);
  if (groups == 0 || dims[0] == 0) return Normalization{};
  // [C] becomes [C, 1, 1] against [N, C, H, W].
  const auto per_channel = [&](Operand operand) {
    std::vector<int64_t> spread(dims.size() - 1, 1);
    spread[0] = channels;
    operand.type = model::StaticType(operand.type.dtype, spread);
    return operand;
  };
  return Normalization{.length = spec.inputs[0].type.elements() / (dims[0] * groups),
                       .scale = per_channel(spec.inputs[1]),
                       .bias = per_channel(spec.inputs[2])};
}

std::optional<Normalization> NormalizationOf(const KernelSpec& spec) {
  if (!spec.epilogue.empty() || spec.inputs.size() < 2 || spec.outputs.size() != 1) {
    return std::nullopt;
  }
  if (spec.op == "LayerNormalization" || spec.op == "RMSNormalization") {
    return OverTrailingAxes(spec);
  }
  if (spec.op == "InstanceNormalization" || spec.op == "GroupNormalization") {
    return OverGroups(spec);
  }
  return std::nullopt;
}

bool IsPlain(const Operand& operand) {
  return SameMemory(operand.type, operand.layout, Layout::kPlain);
}

}  // namespace

std::optional<Program> MakeNormalizeProgram(const KernelSpec& spec) {
  const std::optional<Normalization> normalization = NormalizationOf(spec);
  if (!normalization) return std::nullopt;
  const Operand& input = spec.inputs[0];
  const Operand& output = spec.outputs[0];
  const bool has_bias = normalization->bias.type.dtype != model::DType::kUndefined;
  if (!IsSingleFloat(input.type.dtype) || !IsPlain(input) || !IsPlain(output)) return std::nullopt;
  ProgramWriter writer(spec, "normalize");
  const int64_t elements = input.type.elements();
  if (elements == 0) return std::move(writer).Finish();
  const RowPlan plan = PlanRows(elements / normalization->length, normalization->length,
                                ElementBytes(input.type.dtype));
  const std::string index_type = IndexType(elements + 1024 * plan.length);
  Definitions definitions;
  definitions.Bool("kAroundMean", normalization->around_mean)
      .Float("kEpsilon", spec.attributes.GetFloat("epsilon", 1e-5f))
      .Type("T1", StoredType(normalization->scale.type.dtype));
  std::vector<BufferRef> buffers = {writer.Operand(0), writer.Operand(1)};
  std::string parameters = "const T* in, const T1* p1";
  std::string read = ReadPackText(normalization->scale, input, 1, plan.pack, index_type);
  if (has_bias) {
    definitions.Type("T2", StoredType(normalization->bias.type.dtype));
    buffers.push_back(writer.Operand(2));
    parameters += ", const T2* p2";
    read += ReadPackText(normalization->bias, input, 2, plan.pack, index_type);
  } else {
    read += "  const Pack<float, kPack> x2 = splat_pack<kPack>(0.0f);\n";
  }
  buffers.push_back(writer.Output(0));
  const std::string text = absl::StrCat(definitions.text(), RowText(plan, input.type.dtype),
                                        "\nextern \"C\" __global__ void normalize(", parameters,
                                        ", T* out", kBegin, read, kEnd);
  writer.Launch("normalize", text, plan.grid(), static_cast<int>(plan.block), std::move(buffers));
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
