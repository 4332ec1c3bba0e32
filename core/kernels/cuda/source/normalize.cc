// Normalizations of rows of contiguous elements: LayerNormalization and RMSNormalization over the
// trailing axes, InstanceNormalization and GroupNormalization over groups of channels, whose planes
// are adjacent. Moments are computed in two passes. If there are few rows, and long ones, one
// kernel computes the moments of their chunks and a second one combines them.

#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/source/pointwise.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/rows.h"
#include "core/kernels/layout.h"

namespace quotient::kernels::cuda {
namespace {

// Computes the row's mean (0 if it is not needed) and its sum of squares around the mean.
constexpr char kMoments[] = R"(
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
  squares = combine_group(squares, Add());
)";

// All chunks have the same length.
constexpr char kWriteMoments[] = R"(
  if (row.inside && row.lane == 0) moments[row.begin / kLength] = {mean, squares};
}
)";
constexpr char kReadMoments[] = R"(
  const Row row;
  if (!row.inside) return;
  float x[kHeld ? kSteps * kPack : kPack];
  if (kHeld) {
#pragma unroll (kUnroll)
    for (int step = 0; step < kSteps; ++step) row.read(in, step, 0.0f, x + step * kPack);
  }
  const Moments* const chunks = moments + row.begin / kLength / kChunks * kChunks;
  float mean = 0, squares = 0;
  for (int k = 0; k < kChunks; ++k) mean += chunks[k].mean;
  mean /= (float)kChunks;
  for (int k = 0; k < kChunks; ++k) {
    const float shift = chunks[k].mean - mean;
    squares += chunks[k].squares + (float)kLength * shift * shift;
  }
)";

// Uses p1 (the scale), p2 (the bias, if there is one) and out.
constexpr char kBegin[] = R"(
  const float factor = 1.0f / sqrtf(squares / ((float)kLength * kChunks) + kEpsilon);
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
  int64_t length = 0;   // Elements of a row.
  Operand scale, bias;  // As broadcast to the input; a bias left out has no type.
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

constexpr int64_t kMomentsBytes = 2 * sizeof(float);

// The number of chunks per row: 1 if there are enough rows to fill a GPU, or if rows are short.
int64_t ChunksOf(int64_t rows, int64_t length, int64_t item_bytes) {
  constexpr int64_t kFewRows = 64, kLongRow = 1 << 16, kLeastChunk = 1 << 12, kEnoughBlocks = 256;
  if (rows >= kFewRows || length < kLongRow) return 1;
  int64_t chunks = 1;
  for (int64_t k = 2; k <= length / kLeastChunk && rows * chunks < kEnoughBlocks; ++k) {
    if (length % (k * (16 / item_bytes)) == 0) chunks = k;
  }
  return chunks;
}

// If rows are cut, the plan's rows are chunks.
class NormalizeWriter {
 public:
  NormalizeWriter(const KernelSpec& spec, Normalization normalization, const RowPlan& plan,
                  int64_t chunks)
      : input_(spec.inputs[0]),
        normalization_(std::move(normalization)),
        plan_(plan),
        chunks_(chunks),
        writer_(spec, "normalize") {
    Definitions definitions;
    definitions.Bool("kAroundMean", normalization_.around_mean)
        .Int("kChunks", chunks)
        .Float("kEpsilon", spec.attributes.GetFloat("epsilon", 1e-5f));
    definitions_ = absl::StrCat(definitions.text(), RowText(plan, input_.type.dtype),
                                "struct Moments { float mean, squares; };\n");
    AddBuffer("const T* in", writer_.Operand(0));
  }

  Program Write() && {
    if (chunks_ > 1) AddMoments();
    const std::string read =
        Read(normalization_.scale, 1) +
        (HasBias() ? Read(normalization_.bias, 2)
                   : "  const Pack<float, kPack> x2 = splat_pack<kPack>(0.0f);\n");
    AddBuffer("T* out", writer_.Output(0));
    Launch("normalize", absl::StrCat(chunks_ > 1 ? kReadMoments : kMoments, kBegin, read, kEnd),
           parameters_, buffers_);
    return std::move(writer_).Finish();
  }

 private:
  bool HasBias() const { return normalization_.bias.type.dtype != model::DType::kUndefined; }

  void AddBuffer(absl::string_view parameter, BufferRef buffer) {
    absl::StrAppend(&parameters_, buffers_.empty() ? "" : ", ", parameter);
    buffers_.push_back(buffer);
  }

  void AddMoments() {
    const BufferRef moments = writer_.Temporary(plan_.rows * kMomentsBytes);
    Launch("normalize_moments", absl::StrCat(kMoments, kWriteMoments),
           parameters_ + ", Moments* moments", {writer_.Operand(0), moments});
    AddBuffer("const Moments* moments", moments);
  }

  // Declares operand `number`, which is broadcast to the rows, and returns statements that read it.
  std::string Read(const Operand& operand, int number) {
    const std::string type = absl::StrCat("T", number);
    definitions_ += Definitions().Type(type, StoredType(operand.type.dtype)).text();
    AddBuffer(absl::StrCat("const ", type, "* p", number), writer_.Operand(number));
    const std::string index_type = IndexType(input_.type.elements() + 1024 * plan_.length);
    return ReadPackText(operand, input_, number, plan_.pack, index_type);
  }

  void Launch(absl::string_view kernel, absl::string_view body, absl::string_view parameters,
              std::vector<BufferRef> buffers) {
    writer_.Launch(kernel,
                   absl::StrCat(definitions_, "\nextern \"C\" __global__ void ", kernel, "(",
                                parameters, ") {", body),
                   plan_.grid(), static_cast<int>(plan_.block), std::move(buffers));
  }

  const Operand& input_;
  const Normalization normalization_;
  const RowPlan plan_;
  const int64_t chunks_;
  ProgramWriter writer_;
  std::string definitions_, parameters_;
  std::vector<BufferRef> buffers_;
};

}  // namespace

std::optional<Program> MakeNormalizeProgram(const KernelSpec& spec) {
  const std::optional<Normalization> normalization = NormalizationOf(spec);
  if (!normalization) return std::nullopt;
  const Operand& input = spec.inputs[0];
  if (!IsSingleFloat(input.type.dtype) || !IsPlain(input) || !IsPlain(spec.outputs[0])) {
    return std::nullopt;
  }
  const int64_t elements = input.type.elements();
  if (elements == 0) return ProgramWriter(spec, "normalize").Finish();
  const int64_t length = normalization->length, rows = elements / length;
  const int64_t item_bytes = ElementBytes(input.type.dtype);
  const int64_t chunks = ChunksOf(rows, length, item_bytes);
  const RowPlan plan = PlanRows(rows * chunks, length / chunks, item_bytes);
  return NormalizeWriter(spec, *normalization, plan, chunks).Write();
}

}  // namespace quotient::kernels::cuda
