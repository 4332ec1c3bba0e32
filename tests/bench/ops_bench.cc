// The reference evaluator's operators at the sizes of networks: how long a check takes. "flops" are
// multiplications and additions per second of processor time.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/ops/op.h"
#include "tests/support/graphs.h"

namespace quotient::ops {
namespace {

struct Case {
  const char* name;
  const char* text;      // as in core/model/text.h; constants and one node
  double multiply_adds;  // 0: not counted
};

const Case kCases[] = {
    {"conv_3x3_64_128_112",
     R"(const x: float32[1,64,112,112] = random(1)
        const w: float32[128,64,3,3] = random(2)
        y = Conv(x, w) {pads=[1,1,1,1]})",
     112.0 * 112 * 64 * 128 * 9},
    {"conv_1x1_256_64_56",
     R"(const x: float32[1,256,56,56] = random(1)
        const w: float32[64,256,1,1] = random(2)
        y = Conv(x, w))",
     56.0 * 56 * 256 * 64},
    {"conv_depthwise_3x3_96_112",
     R"(const x: float32[1,96,112,112] = random(1)
        const w: float32[96,1,3,3] = random(2)
        y = Conv(x, w) {group=96, pads=[1,1,1,1]})",
     112.0 * 112 * 96 * 9},
    {"conv_32_groups_128_56",
     R"(const x: float32[1,128,56,56] = random(1)
        const w: float32[128,4,3,3] = random(2)
        y = Conv(x, w) {group=32, pads=[1,1,1,1]})",
     56.0 * 56 * 128 * 4 * 9},
    {"conv_transpose_2x2_128_64",
     R"(const x: float32[1,128,64,64] = random(1)
        const w: float32[128,64,2,2] = random(2)
        y = ConvTranspose(x, w) {strides=[2,2]})",
     64.0 * 64 * 128 * 64 * 4},
    {"matmul_197_768_3072",
     R"(const a: float32[1,197,768] = random(1)
        const b: float32[768,3072] = random(2)
        y = MatMul(a, b))",
     197.0 * 768 * 3072},
    {"matmul_attention_12_197_64",
     R"(const a: float32[1,12,197,64] = random(1)
        const b: float32[1,12,64,197] = random(2)
        y = MatMul(a, b))",
     12.0 * 197 * 64 * 197},
    {"gemm_one_row_4096_4096",
     R"(const a: float32[1,4096] = random(1)
        const b: float32[4096,4096] = random(2)
        y = Gemm(a, b) {transB=1})",
     4096.0 * 4096},
    {"softmax_12_197_197", "const x: float32[12,197,197] = random(1)\ny = Softmax(x)", 0},
    {"layernorm_197_768",
     R"(const x: float32[197,768] = random(1)
        const s: float32[768] = random(2)
        y = LayerNormalization(x, s, s))",
     0},
    {"gelu_197_3072", "const x: float32[197,3072] = random(1)\ny = Gelu(x)", 0},
    {"add_bias_197_3072",
     R"(const x: float32[197,3072] = random(1)
        const b: float32[3072] = random(2)
        y = Add(x, b))",
     0},
    {"maxpool_3x3_64_112",
     R"(const x: float32[1,64,112,112] = random(1)
        y = MaxPool(x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]})",
     0},
};

void Evaluate(benchmark::State& state, const Case& c, int threads) {
  const model::Graph graph =
      testing::MustParse(std::string("graph bench {\n") + c.text + "\noutput y\n}");
  std::vector<const model::Tensor*> inputs;
  for (model::ValueId id : graph.nodes[0].inputs) inputs.push_back(&*graph.value(id).constant);
  for ([[maybe_unused]] auto iteration : state) {
    const auto outputs = EvaluateNode(graph.nodes[0], inputs, threads);
    if (!outputs.ok()) {
      state.SkipWithError(outputs.status().ToString().c_str());
      return;
    }
    benchmark::DoNotOptimize(outputs->front().bytes().data());
  }
  if (c.multiply_adds > 0) {
    state.counters["flops"] =
        benchmark::Counter(2 * c.multiply_adds, benchmark::Counter::kIsIterationInvariantRate);
  }
}

[[maybe_unused]] const bool registered = [] {
  for (const Case& c : kCases) {
    for (int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (std::string(c.name) + "/threads:" + std::to_string(threads)).c_str(),
          [&c, threads](benchmark::State& state) { Evaluate(state, c, threads); })
          ->MeasureProcessCPUTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace quotient::ops
