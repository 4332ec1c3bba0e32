#include "tests/support/cuda/sample_sources.h"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/layout.h"
#include "core/kernels/partition.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace quotient::kernels::cuda {
namespace {

// Graphs with $T for a floating-point type.
constexpr const char* kFloatGraphs[] = {
    // All operators of element-wise chains.
    R"(input x: $T[2,16,9,16]
input z: $T[2,16,9,16]
const c: $T[16,1,1] = random(1)
const r: $T[16] = random(2)
const s: $T[] = [0.5]
const v: $T[16] = [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
a0 = Add(x, z)
a1 = Mul(a0, c)
a2 = Sub(r, a1)
a3 = Div(a2, s)
a4 = Max(a3, z)
a5 = Min(a4, c)
a6 = BatchNormalization(a5, r, r, r, v)
a7 = LeakyRelu(a6) {alpha=0.1}
a8 = Clip(a7) {max=6.0}
a9 = Gelu(a8)
b0 = Gelu(a9) {approximate="tanh"}
b1 = HardSigmoid(b0)
b2 = HardSwish(b1)
b3 = Pow(b2, s)
b4 = Pow(b3, r)
output b4
)",
    R"(input x: $T[70000,64]
a0 = Relu(x)
a1 = Sigmoid(a0)
a2 = Tanh(a1)
a3 = Neg(a2)
a4 = Abs(a3)
a5 = Sqrt(a4)
a6 = Exp(a5)
a7 = Reciprocal(a6)
a8 = Log(a7)
a9 = Erf(a8)
b0 = Sin(a9)
b1 = Cos(b0)
b2 = Floor(b1)
b3 = Ceil(b2)
output b3
)",
    R"(input x: $T[64,12,80,80]
a0 = Softmax(x)
a1 = LogSoftmax(x) {axis=1}
a2 = Softmax(x) {axis=2}
output a0, a1, a2
)",
    R"(input x: $T[2,100,768]
input z: $T[1,70001]
input w: $T[3,81920]
const s: $T[768] = random(1)
const t: $T[81920] = random(2)
a0 = LayerNormalization(x, s, s)
a1 = LayerNormalization(x, s)
a2 = RMSNormalization(x, s)
a3 = Softmax(z)
a4 = LayerNormalization(w, t)
output a0, a1, a2, a3, a4
)",
    R"(input x: $T[2,32,40,40]
const s: $T[32] = random(1)
a0 = InstanceNormalization(x, s, s)
a1 = GroupNormalization(x, s, s) {num_groups=4}
output a0, a1
)",
    R"(input x: $T[2,64,40,40]
a0 = MaxPool(x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
a1 = AveragePool(x) {kernel_shape=[3,3], pads=[1,1,1,1], ceil_mode=1}
a2 = GlobalAveragePool(a1)
a3 = GlobalMaxPool(x)
a4 = Resize(a0) {scales=[1.0,1.0,2.0,2.0], mode="nearest"}
a5 = Resize(a0) {scales=[1.0,1.0,2.0,2.0], mode="linear"}
a6 = Transpose(a5) {perm=[0,2,3,1]}
output a2, a3, a4, a6
)",
    R"(input x: $T[3,50000]
input z: $T[1000,64]
a0 = ReduceMean(x) {axes=[1]}
a1 = ReduceSum(x) {axes=[0]}
a2 = ReduceMax(z) {axes=[0]}
a3 = ReduceMin(x) {axes=[0,1]}
a4 = ReduceProd(z) {axes=[1]}
a5 = ReduceL1(z) {axes=[1]}
a6 = ReduceL2(z) {axes=[1]}
a7 = ReduceSumSquare(z) {axes=[1]}
a8 = ReduceLogSum(z) {axes=[1]}
a9 = ReduceLogSumExp(x) {axes=[1]}
b0 = ArgMax(x) {axis=1}
b1 = ArgMin(z) {axis=0}
output a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1
)",
    R"(input x: $T[40,50]
input z: $T[50]
a0 = Round(x)
a1 = Softplus(x)
a2 = Mish(x)
a3 = Elu(x)
a4 = Selu(x)
a5 = Celu(x)
a6 = PRelu(x, z)
a7 = Max(x, z, x)
a8 = Mean(x, z, z)
a9 = Mod(x, z) {fmod=1}
b0 = Sign(x)
b1 = Swish(x)
b2 = IsNaN(x)
b3 = Less(x, z)
b4 = Asinh(x)
b5 = Tan(x)
b6 = Atanh(x)
b7 = CumSum(x) {axis=1}
output a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7
)",
};

// Graphs with $T for any element type.
constexpr const char* kAnyGraphs[] = {
    R"(input x: $T[4,24,40,40]
input z: $T[4,24,40,40]
input c: bool[40]
input i: int64[3,7]
input j: int64[9,2]
input u: $T[9,40,40]
a0 = Transpose(x) {perm=[0,2,3,1]}
a1 = Transpose(x) {perm=[3,2,1,0]}
a2 = Concat(x, z) {axis=3}
(a3, a4) = Split(x) {axis=2, split=[10,30]}
a5 = Slice(x) {starts=[39], ends=[0], axes=[3], steps=[-2]}
a6 = Pad(x) {pads=[0,0,1,1,0,0,2,2]}
a7 = Pad(x) {pads=[0,0,1,1,0,0,2,2], mode="reflect"}
a8 = Tile(x) {repeats=[1,2,1,2]}
a9 = Gather(x, i) {axis=1}
b0 = Where(c, x, z)
b1 = Trilu(x)
b2 = Equal(x, z)
b3 = ReduceMax(x) {axes=[1]}
b4 = GatherND(x, j)
b5 = ScatterND(x, j, u)
b6 = Pad(x) {pads=[0,1,2,0,0,0,2,0]}
output a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6
)",
    R"(input x: $T[50,50]
a0 = Cast(x) {to=1}
a1 = Cast(x) {to=10}
a2 = Cast(x) {to=16}
a3 = Cast(x) {to=11}
a4 = Cast(x) {to=2}
a5 = Cast(x) {to=7}
a6 = Cast(x) {to=13}
a7 = Cast(x) {to=9}
output a0, a1, a2, a3, a4, a5, a6, a7
)",
};

constexpr const char* kNumberGraphs[] = {
    R"(input x: $T[50,50]
input z: $T[50]
input i: int32[50,50]
a0 = Add(x, z)
a1 = Sub(x, z)
a2 = Mul(x, z)
a3 = Max(x, z)
a4 = GatherElements(x, i) {axis=1}
a5 = CumSum(x) {axis=0, reverse=1}
a6 = ReduceSum(x) {axes=[1]}
a7 = ReduceL2(x) {axes=[0]}
a8 = ArgMax(x) {axis=1}
output a0, a1, a2, a3, a4, a5, a6, a7, a8
)",
};

constexpr const char* kDoubleGraphs[] = {
    R"(input x: float64[50,50]
input z: float64[50]
a0 = Sqrt(x)
a1 = Exp(x)
a2 = Log(x)
a3 = Sin(x)
a4 = Cos(x)
a5 = Erf(x)
a6 = Tanh(x)
a7 = Round(x)
a8 = Sigmoid(x)
a9 = Pow(x, z)
b0 = IsInf(x)
output a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0
)",
};

// Appends all kernels of a graph, including those of epilogues that are too long for one kernel.
// Ends the program if the graph is invalid.
void AppendKernels(const std::string& body, std::vector<SourceKernel>& kernels) {
  const auto fail = [&](const absl::Status& status) {
    std::fprintf(stderr, "%s\n%s\n", body.c_str(), status.ToString().c_str());
    std::abort();
  };
  auto graph = model::ParseGraph(absl::StrCat("graph sample {\n", body, "}"));
  if (!graph.ok()) fail(graph.status());
  if (const absl::Status inferred = ops::InferTypes(*graph); !inferred.ok()) fail(inferred);
  const auto groups = PartitionGraph(*graph, {});
  if (!groups.ok()) fail(groups.status());
  for (const KernelGroup& group : *groups) {
    if (group.spec.free) continue;
    const std::optional<Program> program = MakeSourceProgram(group.spec);
    if (!program) fail(absl::NotFoundError(KernelKey(group.spec)));
    for (const Launch& launch : program->launches) {
      kernels.push_back(std::get<SourceKernel>(launch.what));
    }
  }
}

}  // namespace

std::vector<SourceKernel> SampleSources() {
  std::vector<SourceKernel> kernels;
  const auto append = [&](std::span<const char* const> graphs, absl::string_view type) {
    for (const char* const graph : graphs) {
      AppendKernels(absl::StrReplaceAll(graph, {{"$T", type}}), kernels);
    }
  };
  for (const char* const type : {"float32", "float16"}) append(kFloatGraphs, type);
  append(std::span(kFloatGraphs).first(2), "bfloat16");
  for (const char* const type : {"float32", "bfloat16", "int64", "uint8", "bool"}) {
    append(kAnyGraphs, type);
  }
  for (const char* const type : {"float64", "int32", "uint64"}) append(kNumberGraphs, type);
  append(kDoubleGraphs, "float64");
  return kernels;
}

}  // namespace quotient::kernels::cuda
