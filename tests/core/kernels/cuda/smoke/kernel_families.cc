#include "tests/core/kernels/cuda/smoke/kernel_families.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "core/kernels/partition.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"

namespace quotient::kernels::cuda::smoke {
namespace {

constexpr Arithmetic kTf32 = {"tf32", "float32", MathPolicy::kTf32, 2e-3};
constexpr Arithmetic kStrict32 = {"strict32", "float32", MathPolicy::kStrict32, 1e-5};
constexpr Arithmetic kFloat16 = {"float16", "float16", MathPolicy::kTf32, 1e-2};
constexpr Arithmetic kBfloat16 = {"bfloat16", "bfloat16", MathPolicy::kTf32, 2e-2};

}  // namespace

const std::vector<Family>& Families() {
  static const auto& families = *new std::vector<Family>{
      {"product",
       R"(
input x: TYPE[144,64]
const w: TYPE[64,160] = random(1)
const b: TYPE[160] = random(2)
input z: TYPE[144,160]
m = MatMul(x, w)
s = Add(m, b)
t = Add(s, z)
y = Relu(t)
output y
)",
       {kTf32, kStrict32, kFloat16, kBfloat16}},
      {"conv_relu",
       R"(
input x: TYPE[1,16,6,6]
const w: TYPE[32,16,3,3] = random(1)
const b: TYPE[32] = random(2)
c = Conv(x, w, b) {pads=[1,1,1,1]}
y = Relu(c)
output y
)",
       {kTf32, kStrict32, kFloat16}},
      {"conv_gelu",
       R"(
input x: TYPE[1,16,6,6]
const w: TYPE[32,16,3,3] = random(1)
const b: TYPE[32] = random(2)
c = Conv(x, w, b) {pads=[1,1,1,1]}
y = Gelu(c)
output y
)",
       {kTf32, kFloat16}},
      {"attention",
       R"(
input q: TYPE[1,2,64,32]
input k: TYPE[1,2,32,64]
input v: TYPE[1,2,64,32]
const scale: TYPE[] = [0.176776695]
p = MatMul(q, k)
s = Mul(p, scale)
a = Softmax(s) {axis=3}
y = MatMul(a, v)
output y
)",
       {kFloat16, kTf32}},
      {"pool",
       R"(
input x: TYPE[1,32,14,14]
const w: TYPE[32,32,1,1] = random(1)
c = Conv(x, w)
y = MaxPool(c) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}
output y
)",
       {kTf32, kFloat16}},
      {"norm",
       R"(
input x: TYPE[64,256]
const g: TYPE[256] = random(1)
const b: TYPE[256] = random(2)
y = LayerNormalization(x, g, b)
output y
)",
       {kStrict32, kFloat16}},
      {"reduction",
       R"(
input x: TYPE[64,256]
y = ReduceSum(x) {axes=[1]}
output y
)",
       {kStrict32, kFloat16}},
      {"softmax",
       R"(
input x: TYPE[64,256]
y = Softmax(x) {axis=1}
output y
)",
       {kStrict32, kFloat16}},
      {"transpose",
       R"(
input x: TYPE[8,64,32]
y = Transpose(x) {perm=[2,0,1]}
output y
)",
       {kStrict32, kFloat16}},
      {"gather",
       R"(
input ids: int64[16]
const table: TYPE[64,32] = random(1)
y = Gather(table, ids)
output y
)",
       {kStrict32, kFloat16}},
  };
  return families;
}

absl::StatusOr<std::vector<KernelSpec>> SpecsOf(const Family& family, const char* type) {
  const std::string body = absl::StrReplaceAll(family.body, {{"TYPE", type}});
  QUOTIENT_ASSIGN_OR_RETURN(model::Graph graph,
                            model::ParseGraph(absl::StrCat("graph g {", body, "}")));
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  QUOTIENT_ASSIGN_OR_RETURN(
      const std::vector<KernelGroup> groups,
      PartitionGraph(graph, {.storage = Storage::kNative, .fuses_attention = true}));
  std::vector<KernelSpec> specs;
  for (const KernelGroup& group : groups) {
    if (!group.spec.free && group.spec.op != kReorderOp) specs.push_back(group.spec);
  }
  return specs;
}

}  // namespace quotient::kernels::cuda::smoke
