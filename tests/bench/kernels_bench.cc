// Single kernels through the CPU backend, weights cold as in a model of 64 MiB. "GFLOP/s" against
// the peak of a core, "GB/s" against its memory rate.
//
//   kernels_bench --benchmark_filter=Conv

#include <benchmark/benchmark.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/cost/work.h"
#include "core/kernels/onednn/onednn_backend.h"

namespace quotient::kernels {
namespace {

constexpr int kFootprintLog2 = 26;

Operand Floats(std::vector<int64_t> dims, bool constant = false) {
  return {model::StaticType(model::DType::kFloat32, dims), constant};
}

void RunKernel(benchmark::State& state, const KernelSpec& spec) {
  const auto backend = onednn::NewBackend(1);
  auto kernels = backend.ok() ? (*backend)->Compile(spec) : backend.status();
  if (!kernels.ok()) {
    state.SkipWithError(std::string(kernels.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    if (!kernels->front()->Run(1).ok()) state.SkipWithError("run failed");
  }
  const cost::Work work = cost::WorkOf(spec);
  using benchmark::Counter;
  const auto rate = [&](double amount) {
    return Counter(amount * 1e-9, Counter::kIsIterationInvariantRate);
  };
  if (work.k > 0) state.counters["GFLOP/s"] = rate(work.product_flops());
  state.counters["GB/s"] = rate(work.constant_bytes + work.activation_bytes);
}

KernelSpec ConvSpec(int64_t in, int64_t out, int64_t size, int64_t kernel, int64_t stride,
                    int64_t group) {
  const int64_t pad = kernel / 2, result = (size + 2 * pad - kernel) / stride + 1;
  return MakeSpec(
      "Conv",
      {{"group", group},
       {"pads", model::Ints{pad, pad, pad, pad}},
       {"strides", model::Ints{stride, stride}}},
      {Floats({1, in, size, size}), Floats({out, in / group, kernel, kernel}, true),
       Floats({out}, true)},
      {model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, out, result, result})}, 1,
      kFootprintLog2);
}

void BM_Conv(benchmark::State& state) {
  KernelSpec spec = ConvSpec(state.range(0), state.range(1), state.range(2), state.range(3),
                             state.range(4), state.range(5));
  spec.epilogue.push_back({.op = "Relu"});
  RunKernel(state, spec);
}
BENCHMARK(BM_Conv)
    ->ArgNames({"in", "out", "size", "kernel", "stride", "group"})
    ->Args({3, 64, 224, 7, 2, 1})
    ->Args({64, 64, 56, 3, 1, 1})
    ->Args({128, 128, 28, 3, 1, 1})
    ->Args({256, 256, 14, 3, 1, 1})
    ->Args({512, 512, 7, 3, 1, 1})
    ->Args({256, 64, 56, 1, 1, 1})
    ->Args({512, 2048, 7, 1, 1, 1})
    ->Args({128, 128, 28, 3, 1, 32})
    ->Args({144, 144, 56, 3, 1, 144});

KernelSpec MatMulSpec(int64_t m, int64_t k, int64_t n, bool constant) {
  return MakeSpec("MatMul", {}, {Floats({1, m, k}), Floats({k, n}, constant)},
                  {model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, m, n})}, 1,
                  kFootprintLog2);
}

void BM_MatMul(benchmark::State& state) {
  RunKernel(state, MatMulSpec(state.range(0), state.range(1), state.range(2), state.range(3) != 0));
}
BENCHMARK(BM_MatMul)
    ->ArgNames({"m", "k", "n", "constant"})
    ->Args({128, 768, 768, 1})
    ->Args({128, 768, 3072, 1})
    ->Args({128, 3072, 768, 1})
    ->Args({128, 768, 768, 0})
    ->Args({64, 1024, 3072, 1})
    ->Args({1, 512, 512, 1})
    ->Args({1, 512, 4096, 1});

KernelSpec UnarySpec(const char* op, std::vector<int64_t> dims,
                     model::AttributeMap attributes = {}) {
  const auto type = model::StaticType(model::DType::kFloat32, dims);
  return MakeSpec(op, attributes, {Operand{type}}, {type}, 1, 0);
}

void BM_Relu(benchmark::State& state) { RunKernel(state, UnarySpec("Relu", {1, 64, 56, 56})); }
void BM_Gelu(benchmark::State& state) { RunKernel(state, UnarySpec("Gelu", {128, 3072})); }
void BM_Sigmoid(benchmark::State& state) { RunKernel(state, UnarySpec("Sigmoid", {64, 3072})); }
void BM_Softmax(benchmark::State& state) {
  RunKernel(state, UnarySpec("Softmax", {1, 12, 128, 128}, {{"axis", int64_t{3}}}));
}
// Along an axis that is not the last: as attention that is linear in its length takes it of the
// keys, and as segmentation and language models take it of channels.
void BM_SoftmaxAlong(benchmark::State& state) {
  RunKernel(state, UnarySpec("Softmax", {state.range(0), state.range(1), state.range(2)},
                             {{"axis", int64_t{1}}}));
}
BENCHMARK(BM_SoftmaxAlong)
    ->ArgNames({"outer", "length", "inner"})
    ->Args({8, 3137, 19})
    ->Args({8, 197, 27})
    ->Args({1, 21, 65536})
    ->Args({12, 128, 128});
BENCHMARK(BM_Relu);
BENCHMARK(BM_Gelu);
BENCHMARK(BM_Sigmoid);
BENCHMARK(BM_Softmax);

void BM_Transpose(benchmark::State& state) {
  const auto out = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, 12, 64, 128});
  RunKernel(state, MakeSpec("Transpose", {{"perm", model::Ints{0, 2, 3, 1}}},
                            {Floats({1, 128, 12, 64})}, {out}, 1, 0));
}
BENCHMARK(BM_Transpose);

void BM_Concat(benchmark::State& state) {
  const auto out = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, 256, 28, 28});
  KernelSpec spec = MakeSpec("Concat", {{"axis", int64_t{1}}},
                             {Floats({1, 192, 28, 28}), Floats({1, 64, 28, 28})}, {out}, 1, 0);
  for (Operand* operand : {&spec.inputs[0], &spec.inputs[1], &spec.outputs[0]}) {
    operand->layout = Layout::kChannelsLast;
  }
  RunKernel(state, spec);
}
BENCHMARK(BM_Concat);

void BM_Add(benchmark::State& state) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, 256, 56, 56});
  RunKernel(state, MakeSpec("Add", {}, {Operand{type}, Operand{type}}, {type}, 1, 0));
}
BENCHMARK(BM_Add);

}  // namespace
}  // namespace quotient::kernels
