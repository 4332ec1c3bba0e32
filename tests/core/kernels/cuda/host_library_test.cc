// The reference itself, by values worked out by hand; products and convolutions are seen to be
// right where whole graphs agree with the evaluator.

#include "tests/support/cuda/host_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {

namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// Row-major, float32.
DnnTensor Tensor(std::vector<int64_t> dims) {
  DnnTensor tensor;
  tensor.strides.assign(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) tensor.strides[i - 1] = tensor.strides[i] * dims[i];
  tensor.dims = std::move(dims);
  return tensor;
}

// What one node makes of its inputs; the last tensor is its output.
std::vector<float> Compute(DnnNode node, const std::vector<DnnTensor>& tensors,
                           std::vector<std::vector<float>> inputs) {
  DnnGraph graph;
  graph.tensors = tensors;
  for (size_t i = 0; i + 1 < tensors.size(); ++i) node.inputs.push_back(static_cast<int>(i));
  node.output = static_cast<int>(tensors.size()) - 1;
  graph.nodes = {node};
  size_t size = 1;
  for (const int64_t dim : tensors.back().dims) size *= static_cast<size_t>(dim);
  std::vector<float> output(size, NAN);
  std::vector<void*> buffers;
  for (std::vector<float>& input : inputs) buffers.push_back(input.data());
  buffers.push_back(output.data());
  EXPECT_OK(ComputeOnHost(graph, buffers, /*rounded=*/false));
  return output;
}

TEST(HostLibraryTest, Reduces) {
  const std::vector<DnnTensor> tensors = {Tensor({2, 3}), Tensor({2, 1})};
  const std::vector<std::vector<float>> x = {{1, 2, 6, -1, -2, -3}};
  const auto reduce = [&](DnnMode mode) {
    return Compute({.op = DnnOp::kReduction, .mode = mode}, tensors, x);
  };
  EXPECT_THAT(reduce(DnnMode::kReduceSum), ElementsAre(9, -6));
  EXPECT_THAT(reduce(DnnMode::kReduceMean), ElementsAre(3, -2));
  EXPECT_THAT(reduce(DnnMode::kReduceMax), ElementsAre(6, -1));
  EXPECT_THAT(reduce(DnnMode::kReduceMin), ElementsAre(1, -3));
  EXPECT_THAT(reduce(DnnMode::kReduceProd), ElementsAre(12, -6));
}

TEST(HostLibraryTest, Pools) {
  const std::vector<DnnTensor> tensors = {Tensor({1, 1, 2, 2}), Tensor({1, 1, 1, 1})};
  // A window of 3x3 that sees two rows and columns of padding, and all of the image.
  const auto pool = [&](DnnMode mode) {
    return Compute({.op = DnnOp::kPool,
                    .mode = mode,
                    .pads_begin = {1, 1},
                    .pads_end = {0, 0},
                    .strides = {1, 1},
                    .window = {3, 3}},
                   tensors, {{-1, -2, -3, -12}});
  };
  EXPECT_THAT(pool(DnnMode::kMaxPool), ElementsAre(-1));
  EXPECT_THAT(pool(DnnMode::kAveragePoolWithPadding), ElementsAre(-2));
  EXPECT_THAT(pool(DnnMode::kAveragePoolWithoutPadding), ElementsAre(-4.5));
}

TEST(HostLibraryTest, Normalizes) {
  const DnnTensor rows = Tensor({2, 2, 1, 1});
  const DnnTensor row = Tensor({1, 2, 1, 1});
  EXPECT_THAT(
      Compute({.op = DnnOp::kLayerNorm}, {rows, row, row, rows}, {{1, 3, 10, 0}, {1, 2}, {0, 5}}),
      ElementsAre(-1, 7, 1, 3));
  EXPECT_THAT(Compute({.op = DnnOp::kRmsNorm}, {rows, row, rows}, {{3, 3, 2, -2}, {1, 2}}),
              ElementsAre(1, 2, 1, -2));
}

TEST(HostLibraryTest, Attends) {
  const DnnTensor one = Tensor({1, 1, 1, 1});
  const DnnTensor two = Tensor({1, 1, 2, 1});
  // Scores 0 and ln 3: weights 1/4 and 3/4.
  const auto ln3 = static_cast<float>(std::log(3.0));
  EXPECT_THAT(Compute({.op = DnnOp::kAttention, .scale = 0.5}, {one, two, two, one},
                      {{2}, {0, ln3}, {4, 8}}),
              Pointwise(FloatNear(1e-6F), {7.0F}));
  // The bias takes the scores' difference away.
  EXPECT_THAT(
      Compute({.op = DnnOp::kAttention, .scale = 0.5}, {one, two, two, Tensor({1, 1, 1, 2}), one},
              {{2}, {0, ln3}, {4, 8}, {ln3, 0}}),
      Pointwise(FloatNear(1e-6F), {6.0F}));
}

}  // namespace

}  // namespace quotient::kernels::cuda
