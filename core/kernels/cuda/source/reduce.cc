// Reductions along any axes: sums, extremes, their indices, and pools over whole images. After axes
// are joined, the fastest one in memory is either reduced (a group of threads reads along it) or
// kept (adjacent threads have adjacent outputs). If there are few outputs, the reduced elements are
// cut into chunks, whose results a second kernel combines.

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "core/kernels/cuda/source/prelude.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/cuda/source/text.h"
#include "core/kernels/layout.h"
#include "core/kernels/reduced_axes.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

// --- What is computed

// W is the type of the arithmetic; plus and times wrap for integers.
constexpr char kArithmetic[] = R"(
__device__ inline float plus(float a, float b) { return a + b; }
__device__ inline double plus(double a, double b) { return a + b; }
__device__ inline i64 plus(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
__device__ inline u64 plus(u64 a, u64 b) { return a + b; }
__device__ inline float times(float a, float b) { return a * b; }
__device__ inline double times(double a, double b) { return a * b; }
__device__ inline i64 times(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
__device__ inline u64 times(u64 a, u64 b) { return a * b; }
template <typename V>
__device__ inline V larger(V a, V b) { return a > b || a != a ? a : b; }
template <typename V>
__device__ inline V smaller(V a, V b) { return a < b || a != a ? a : b; }
)";

// A reduction whose state is a number: the initial state, the effect of a value v on the state s,
// the combination of two states, and the result.
struct NumberReduction {
  const char* op;
  const char* initial;
  const char* add;
  const char* combine;
  const char* finish;
  bool in_double = false;  // For integers, too.
};

constexpr NumberReduction kNumberReductions[] = {
    {"ReduceSum", "0", "plus(s, v)", "plus(a, b)", "s"},
    {"ReduceMean", "0", "plus(s, v)", "plus(a, b)", "s / (W)kReduced"},
    {"ReduceMax", "kLowestOfAll", "larger(s, v)", "larger(a, b)", "s"},
    {"ReduceMin", "kLargestOfAll", "smaller(s, v)", "smaller(a, b)", "s"},
    {"ReduceProd", "1", "times(s, v)", "times(a, b)", "s"},
    {"ReduceL1", "0", "plus(s, v < 0 ? -v : v)", "plus(a, b)", "s"},
    {"ReduceSumSquare", "0", "plus(s, times(v, v))", "plus(a, b)", "s"},
    {"ReduceL2", "0", "plus(s, times(v, v))", "plus(a, b)", "sqrt(s)", true},
    {"ReduceLogSum", "0", "plus(s, v)", "plus(a, b)", "log(s)", true},
    {"GlobalAveragePool", "0", "plus(s, v)", "plus(a, b)", "s / (W)kReduced"},
    {"GlobalMaxPool", "kLowestOfAll", "larger(s, v)", "larger(a, b)", "s"},
};

constexpr char kNumberText[] = R"(
typedef W State;
__device__ inline State initial() { return $0; }
__device__ inline State add(State s, W v, Index) { return $1; }
__device__ inline State combine(State a, State b) { return $2; }
__device__ inline W finish(State s) { return $3; }
)";

// Keeps the sum relative to the largest exponent, so that nothing overflows.
constexpr char kLogSumExpText[] = R"(
struct State { W largest, sum; };
__device__ inline State initial() { return {kLowestOfAll, 0}; }
__device__ inline State combine(State a, State b) {
  const W largest = larger(a.largest, b.largest);
  // Equal values are not subtracted, because the difference of two infinities is NaN.
  const W left = a.largest == largest ? a.sum : a.sum * exp(a.largest - largest);
  const W right = b.largest == largest ? b.sum : b.sum * exp(b.largest - largest);
  return {largest, left + right};
}
__device__ inline State add(State s, W v, Index) { return combine(s, {v, 1}); }
__device__ inline W finish(State s) { return s.sum == 0 ? s.largest : s.largest + log(s.sum); }
)";

// Among equal values the first or the last counts.
constexpr char kArgText[] = R"(
struct State { W value; i64 index; };
__device__ inline State initial() { return {0, -1}; }
__device__ inline State combine(State a, State b) {
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  if (a.value == b.value) return (a.index < b.index) != kLast ? a : b;
  return (kLargest ? b.value > a.value : b.value < a.value) ? b : a;
}
__device__ inline State add(State s, W v, Index index) { return combine(s, {v, (i64)index}); }
__device__ inline i64 finish(State s) { return s.index; }
)";

// The type in which values are computed.
std::string WideType(DType dtype, bool in_double) {
  if (IsSingleFloat(dtype)) return "float";
  if (dtype == DType::kFloat64 || in_double) return "double";
  return dtype == DType::kUint64 ? "u64" : "i64";
}

// The lowest and the largest number of a type.
std::string Extremes(const std::string& wide) {
  if (wide == "float" || wide == "double") {
    return absl::Substitute(
        "#define kLowestOfAll (($0)float_of_bits(0xff800000u))\n"
        "#define kLargestOfAll (($0)float_of_bits(0x7f800000u))\n",
        wide);
  }
  return absl::Substitute(
      "#define kLowestOfAll (($0)$1)\n#define kLargestOfAll (($0)~(u64)kLowestOfAll)\n", wide,
      wide == "u64" ? "0" : "((u64)1 << 63)");
}

// --- The axes

struct KeptAxis {
  int64_t count;
  int64_t from;  // Distance of neighbours in the input, in elements.
  int64_t to;    // The same in the output.
};

struct Reduction {
  std::string text;           // W, State, initial, add, combine, finish.
  std::vector<bool> reduced;  // By axis.
};

std::optional<Reduction> ReductionOf(const KernelSpec& spec) {
  const DType dtype = spec.inputs[0].type.dtype;
  const auto reduction = [&](bool in_double, absl::string_view text) {
    const std::string wide = WideType(dtype, in_double);
    return Reduction{
        .text = absl::StrCat("typedef ", wide, " W;\n", Extremes(wide), kArithmetic, text),
        .reduced = ReducedAxes(spec)};
  };
  if (spec.op == "ArgMax" || spec.op == "ArgMin") {
    Definitions flags;
    flags.Bool("kLargest", spec.op == "ArgMax")
        .Bool("kLast", spec.attributes.GetInt("select_last_index", 0) != 0);
    return reduction(false, absl::StrCat(flags.text(), kArgText));
  }
  if (spec.op == "ReduceLogSumExp") return reduction(true, kLogSumExpText);
  const auto* row = std::find_if(std::begin(kNumberReductions), std::end(kNumberReductions),
                                 [&](const NumberReduction& r) { return spec.op == r.op; });
  if (row == std::end(kNumberReductions)) return std::nullopt;
  return reduction(row->in_double, absl::Substitute(kNumberText, row->initial, row->add,
                                                    row->combine, row->finish));
}

// --- The kernels

constexpr char kRowsText[] = R"(
// A group of threads reduces a chunk of the elements of one output.
extern "C" __global__ void KERNEL(const T* in, Out* out) {
  const int lane = threadIdx.x % kGroup;
  const Index job = (Index)blockIdx.x * (kBlock / kGroup) + threadIdx.x / kGroup;
  const Index output = job / kChunks;
  const Index begin = job % kChunks * kChunk;
  const Index end = begin + kChunk < kPacks ? begin + kChunk : kPacks;
  State state = initial();
  if (output < kOutputs) {
    const T* const from = in + kept_offset(output);
#pragma unroll 4
    for (Index i = begin + lane; i < end; i += kGroup) {
      const Pack<T, kPack> pack = load_pack<kPack>(from + reduced_offset(i * kPack));
#pragma unroll
      for (int k = 0; k < kPack; ++k) state = take(state, widen(pack.at[k]), i * kPack + k);
    }
  }
  state = combine_group(state, Combine());
  if (output < kOutputs && lane == 0) out[kChunks == 1 ? to_offset(output) : job] = result(state);
}
)";

constexpr int kColumnLanes = 8;
constexpr int kColumnWidth = 32;
constexpr char kColumnsText[] = R"(
// A block reduces a chunk of the elements of kWidth outputs whose elements are adjacent.
extern "C" __global__ void KERNEL(const T* in, Out* out) {
  __shared__ State states[kLanes][kWidth];
  const int x = threadIdx.x % kWidth;
  const int lane = threadIdx.x / kWidth;
  const Index column = blockIdx.x % kTiles * kWidth + x;
  const Index chunk = blockIdx.x / kTiles % kChunks;
  const Index output = blockIdx.x / kTiles / kChunks * kColumns + column;
  const Index begin = chunk * kChunk;
  const Index end = begin + kChunk < kPacks ? begin + kChunk : kPacks;
  State state = initial();
  if (column < kColumns) {
    const T* const from = in + kept_offset(output);
#pragma unroll 4
    for (Index i = begin + lane; i < end; i += kLanes) {
      state = take(state, widen(from[reduced_offset(i)]), i);
    }
  }
  states[lane][x] = state;
  __syncthreads();
  if (lane != 0 || column >= kColumns) return;
  for (int k = 1; k < kLanes; ++k) state = combine(state, states[k][x]);
  out[kChunks == 1 ? to_offset(output) : output * kChunks + chunk] = result(state);
}
)";

// One kernel. It reads elements or the states of chunks, and writes results or states.
struct Stage {
  bool from_states = false;
  bool to_states = false;
  std::vector<WalkAxis> kept_from, kept_to, reduced;
  int64_t outputs = 1;
  int64_t count = 1;    // Elements, or states, per output.
  int64_t columns = 0;  // Outputs whose elements are neighbours; 0: by rows.
  int64_t pack = 1;
  int64_t chunks = 1;

  int64_t packs() const { return count / pack; }
  int64_t chunk() const { return CeilDiv(packs(), chunks); }
};

constexpr int64_t kEnoughBlocks = 512;  // To fill a GPU.

// Threads per chunk: some loads for each thread, if there are enough outputs.
int64_t GroupSize(const Stage& stage) {
  constexpr int64_t kEnoughThreads = 1 << 16;
  int64_t group = 1;
  while (group < stage.chunk() && group < 256) {
    const bool few = stage.outputs * stage.chunks * group < kEnoughThreads;
    if (!few && stage.chunk() / group <= 4) break;
    group *= 2;
  }
  return group;
}

// Cuts the work of an output so that there are enough blocks with enough work each.
void ChooseChunks(Stage& stage) {
  const bool rows = stage.columns == 0;
  const int64_t blocks =
      rows ? stage.outputs : CeilDiv(stage.columns, kColumnWidth) * (stage.outputs / stage.columns);
  const int64_t least = rows ? 2048 : 64;  // Packs per chunk.
  if (blocks >= kEnoughBlocks / 4 || stage.packs() < 2 * least) return;
  stage.chunks = std::min(CeilDiv(kEnoughBlocks, blocks), stage.packs() / least);
  stage.chunks = CeilDiv(stage.packs(), stage.chunk());  // None of them is empty.
}

void AddStage(const KernelSpec& spec, const Stage& stage, const std::string& functions,
              int64_t reduced_count, BufferRef in, BufferRef out, ProgramWriter& writer) {
  const std::string index_type = IndexType(spec.inputs[0].type.elements() + (1 << 20));
  const std::string kernel = stage.from_states ? "reduce_chunks" : "reduce";
  const int64_t group = GroupSize(stage);
  const int64_t block =
      stage.columns != 0 ? kColumnLanes * kColumnWidth : std::max<int64_t>(group, 128);
  Definitions definitions;
  definitions.Type("R", StoredType(spec.outputs[0].type.dtype))
      .Type("Index", index_type)
      .Int("kBlock", block)
      .Int("kGroup", group)
      .Int("kPack", stage.pack)
      .Int("kPacks", stage.packs())
      .Int("kChunks", stage.chunks)
      .Int("kChunk", stage.chunk())
      .Int("kOutputs", stage.outputs)
      .Int("kReduced", reduced_count);
  if (stage.columns != 0) {
    definitions.Int("kLanes", kColumnLanes)
        .Int("kWidth", kColumnWidth)
        .Int("kColumns", stage.columns)
        .Int("kTiles", CeilDiv(stage.columns, kColumnWidth));
  }
  Definitions types;
  types.Type("T", stage.from_states ? "State" : StoredType(spec.inputs[0].type.dtype))
      .Type("Out", stage.to_states ? "State" : "R");
  const auto offset = [&](absl::string_view name, const std::vector<WalkAxis>& axes) {
    return absl::Substitute("__device__ inline Index $0(Index i) { return $1; }\n", name,
                            OffsetText(axes, "i", index_type));
  };
  const std::string text = absl::StrCat(
      kConvertPrelude, definitions.text(), functions, types.text(), kReducePrelude,
      "struct Combine {\n"
      "  __device__ State operator()(State a, State b) const { return combine(a, b); }\n};\n",
      stage.from_states
          ? "__device__ inline State take(State s, State v, Index) { return combine(s, v); }\n"
          : "template <typename V>\n__device__ inline State take(State s, V v, Index index) {\n"
            "  return add(s, (W)v, index);\n}\n",
      "__device__ inline Out result(State s) { return ",
      stage.to_states ? "s" : "convert<R>(finish(s))", "; }\n",
      offset("kept_offset", stage.kept_from), offset("to_offset", stage.kept_to),
      offset("reduced_offset", stage.reduced), "#define KERNEL ", kernel, "\n",
      stage.columns != 0 ? kColumnsText : kRowsText, "#undef KERNEL\n");
  const int64_t grid = stage.columns != 0 ? CeilDiv(stage.columns, kColumnWidth) * stage.chunks *
                                                (stage.outputs / stage.columns)
                                          : CeilDiv(stage.outputs * stage.chunks, block / group);
  writer.Launch(kernel, text, grid, static_cast<int>(block), {in, out});
}

Stage FirstStage(const KernelSpec& spec, const std::vector<bool>& reduced) {
  const Operand& input = spec.inputs[0];
  const std::vector<int64_t> dims = input.type.dims();
  const std::vector<int64_t> strides = StridesOf(dims, input.layout);
  const std::vector<int64_t> to = ReducedStrides(spec, reduced);
  Stage stage;
  bool fastest_is_kept = false;
  for (const int axis : PhysicalAxes(input.type.rank(), input.layout)) {
    if (dims[axis] == 1) continue;
    fastest_is_kept = !reduced[axis];
    (reduced[axis] ? stage.count : stage.outputs) *= dims[axis];
    if (reduced[axis]) {
      AppendAxis(stage.reduced, {dims[axis], strides[axis]});
    } else {
      AppendAxis(stage.kept_from, {dims[axis], strides[axis]});
      AppendAxis(stage.kept_to, {dims[axis], to[axis]});
    }
  }
  if (fastest_is_kept) {
    stage.columns = stage.kept_from.back().count;
  } else if (!stage.reduced.empty()) {
    int64_t pack = 16 / ElementBytes(input.type.dtype);
    pack = std::gcd(pack, stage.reduced.back().count);
    for (size_t i = 0; i + 1 < stage.reduced.size(); ++i) {
      pack = std::gcd(pack, stage.reduced[i].stride);
    }
    for (const WalkAxis& axis : stage.kept_from) pack = std::gcd(pack, axis.stride);
    stage.pack = pack;
  }
  return stage;
}

// Every State fits 16 bytes.
constexpr int64_t kStateBytes = 16;

}  // namespace

std::optional<Program> MakeReduceProgram(const KernelSpec& spec) {
  if (spec.inputs.size() != 1 || spec.outputs.size() != 1 || !spec.epilogue.empty() ||
      !model::IsComputable(spec.inputs[0].type.dtype)) {
    return std::nullopt;
  }
  const std::optional<Reduction> reduction = ReductionOf(spec);
  if (!reduction) return std::nullopt;
  ProgramWriter writer(spec, "reduce");
  if (spec.outputs[0].type.elements() == 0) return std::move(writer).Finish();
  if (spec.inputs[0].type.elements() == 0) return std::nullopt;
  Stage stage = FirstStage(spec, reduction->reduced);
  ChooseChunks(stage);
  stage.to_states = stage.chunks > 1;
  const BufferRef in = writer.Operand(0), out = writer.Output(0);
  if (!stage.to_states) {
    AddStage(spec, stage, reduction->text, stage.count, in, out, writer);
    return std::move(writer).Finish();
  }
  const BufferRef states = writer.Temporary(stage.outputs * stage.chunks * kStateBytes);
  AddStage(spec, stage, reduction->text, stage.count, in, states, writer);
  Stage second{.from_states = true,
               .kept_from = {{stage.outputs, stage.chunks}},
               .kept_to = stage.kept_to,
               .reduced = {{stage.chunks, 1}},
               .outputs = stage.outputs,
               .count = stage.chunks};
  AddStage(spec, second, reduction->text, stage.count, states, out, writer);
  return std::move(writer).Finish();
}

}  // namespace quotient::kernels::cuda
