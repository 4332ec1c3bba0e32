#pragma once

// Writes graphs for cuDNN node by node.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/model/dtype.h"

namespace quotient::kernels::cuda {

using Dims = std::vector<int64_t>;

inline Dims RowMajor(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// [N, C, spatial...] with channels last in memory.
inline Dims ChannelsLast(const Dims& dims) {
  Dims strides(dims.size(), 1);
  int64_t step = dims[1];
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
  return strides;
}

// Writes a graph node by node. Every result is virtual until Output makes it one, and then of
// float32, as sums are: cuDNN's precompiled engines want that behind a product or convolution.
class DnnGraphMaker {
 public:
  DnnGraphMaker(model::DType type, MathPolicy policy) : type_(type) { graph_.policy = policy; }

  int Add(Dims dims, Dims strides) {
    DnnTensor tensor;
    tensor.type = type_;
    tensor.dims = std::move(dims);
    tensor.strides = std::move(strides);
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<int>(graph_.tensors.size()) - 1;
  }
  int Image(const Dims& dims) { return Add(dims, ChannelsLast(dims)); }
  int Plain(const Dims& dims) { return Add(dims, RowMajor(dims)); }
  int Number(float value, size_t rank) {
    const int tensor = Plain(Dims(rank, 1));
    At(tensor).value = value;
    return tensor;
  }

  // Between nodes.
  int Node(DnnNode node, Dims dims, Dims strides) {
    node.output = Add(std::move(dims), std::move(strides));
    At(node.output).is_virtual = true;
    At(node.output).type = model::DType::kFloat32;
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().output;
  }
  int Pointwise(DnnMode mode, std::vector<int> inputs) {
    const DnnTensor like = At(inputs[0]);
    return Node(
        {.op = DnnOp::kPointwise, .mode = mode, .inputs = std::move(inputs), .slope = 0.125},
        like.dims, like.strides);
  }

  // What a product or convolution reads must be of the inputs' type.
  int Rounded(int tensor) {
    At(tensor).type = type_;
    return tensor;
  }

  DnnGraph Output(int tensor) {
    // 16-bit results of reductions are not supported.
    if (graph_.nodes.back().op != DnnOp::kReduction) At(tensor).type = type_;
    At(tensor).is_virtual = false;
    return graph_;
  }

 private:
  DnnTensor& At(int tensor) { return graph_.tensors[static_cast<size_t>(tensor)]; }

  const model::DType type_;
  DnnGraph graph_;
};

}  // namespace quotient::kernels::cuda
