#pragma once

// Builds an ONNX model node by node, with random weights that are the same on every machine.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace quotient::networks {

// Height and width of a window.
struct Size {
  int64_t height, width;
  Size(int64_t both)
      : height(both), width(both) {}  // NOLINT: implicit, because one number means a square.
  Size(int64_t height_in, int64_t width_in) : height(height_in), width(width_in) {}
};

struct ConvOptions {
  int64_t stride = 1;
  Size pad = 0;  // On both sides.
  int64_t groups = 1;
  bool bias = true;
  double gain = 2;  // As in NetworkBuilder::Weight.
};

struct PoolOptions {
  int64_t stride = 1;
  int64_t pad = 0;  // On both sides. Averages do not include it.
};

class NetworkBuilder {
 public:
  // The model has opset 17 and IR version 8. Its weights are drawn from `seed`.
  NetworkBuilder(const std::string& name, uint64_t seed);

  // Adds a float32 input. A dimension that is not a number becomes a dim_param.
  std::string Input(const std::string& name, const std::vector<std::string>& dims);
  void Output(const std::string& value, const std::vector<std::string>& dims);

  // Adds a weight that multiplies `fan_in` elements for each element of the result. `gain` is the
  // mean square of the result divided by that of the input. 2 keeps activations at the same size if
  // a Relu follows (He et al., 2015), 1 if nothing does.
  std::string Weight(const std::string& name, const std::vector<int64_t>& dims, int64_t fan_in,
                     double gain);
  // Add a weight near zero, and a constant.
  std::string Bias(const std::string& name, int64_t elements);
  std::string Scalar(const std::string& name, float value);

  // Each of these adds a node and returns the name of its output. Weights are named after their
  // node.
  std::string Conv(const std::string& x, int64_t in_channels, int64_t out_channels, Size kernel,
                   const ConvOptions& options = {});
  // Multiplies x [..., in] by a weight [in, out].
  std::string Project(const std::string& x, int64_t in, int64_t out, double gain);
  // A fully connected layer with bias on x [batch, in]. The weight is [out, in], as in frameworks.
  std::string Gemm(const std::string& x, int64_t in, int64_t out, double gain);
  std::string AddBias(const std::string& x, int64_t elements);
  // Normalization for inference, with scale and variance near 1, mean and bias near 0.
  std::string BatchNorm(const std::string& x, int64_t channels);
  // Normalizes over the last axis.
  std::string LayerNorm(const std::string& x, int64_t elements);
  std::string MaxPool(const std::string& x, int64_t kernel, const PoolOptions& options);
  std::string AveragePool(const std::string& x, int64_t kernel, const PoolOptions& options);
  std::string Clip(const std::string& x, float low, float high);
  std::string Reshape(const std::string& x, const std::vector<int64_t>& shape);
  std::string Transpose(const std::string& x, const std::vector<int64_t>& permutation);
  std::string Concat(const std::vector<std::string>& xs, int64_t axis);
  std::vector<std::string> Split(const std::string& x, int parts, int64_t axis);
  // Appends `pads` zeros to each axis.
  std::string Pad(const std::string& x, const std::vector<int64_t>& pads);
  // Takes the elements from `starts` on; one number for each axis.
  std::string SliceFrom(const std::string& x, const std::vector<int64_t>& starts);
  std::string Flatten(const std::string& x);
  std::string Softmax(const std::string& x, int64_t axis);

  std::string Relu(const std::string& x) { return Op("Relu", {x}); }
  std::string Sigmoid(const std::string& x) { return Op("Sigmoid", {x}); }
  std::string Tanh(const std::string& x) { return Op("Tanh", {x}); }
  std::string Erf(const std::string& x) { return Op("Erf", {x}); }
  std::string Dropout(const std::string& x) { return Op("Dropout", {x}); }
  std::string GlobalAveragePool(const std::string& x) { return Op("GlobalAveragePool", {x}); }
  std::string Add(const std::string& a, const std::string& b) { return Op("Add", {a, b}); }
  std::string Mul(const std::string& a, const std::string& b) { return Op("Mul", {a, b}); }
  std::string Div(const std::string& a, const std::string& b) { return Op("Div", {a, b}); }
  std::string MatMul(const std::string& a, const std::string& b) { return Op("MatMul", {a, b}); }

  ::onnx::ModelProto Build() && { return std::move(model_); }

 private:
  ::onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs);
  std::string Op(const std::string& op, const std::vector<std::string>& inputs) {
    return Node(op, inputs)->output(0);
  }
  ::onnx::NodeProto* Pool(const std::string& op, const std::string& x, int64_t kernel,
                          const PoolOptions& options);

  ::onnx::TensorProto* Initializer(const std::string& name, int32_t type,
                                   const std::vector<int64_t>& dims);
  std::string Drawn(const std::string& name, const std::vector<int64_t>& dims, float low,
                    float high);
  std::string Ints(const std::string& name, const std::vector<int64_t>& values);

  ::onnx::ModelProto model_;
  Rng rng_;
  int nodes_ = 0;
};

}  // namespace quotient::networks
