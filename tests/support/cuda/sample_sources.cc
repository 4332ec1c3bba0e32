#include "tests/support/cuda/sample_sources.h"

#include <cstdio>
#include <cstdlib>
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

// Graphs; $T is an element type.
constexpr const char* kFloatGraphs[] = {
    // Every operator of chains.
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
};

// All kernels of a graph, those of epilogues that are too long for one kernel too. Ends the program
// if the graph is not what it should be.
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
  for (const char* const type : {"float32", "float16", "bfloat16"}) {
    for (const char* const graph : kFloatGraphs) {
      AppendKernels(absl::StrReplaceAll(graph, {{"$T", type}}), kernels);
    }
  }
  return kernels;
}

}  // namespace quotient::kernels::cuda
