#pragma once

// Builds ONNX models layer by layer, with weights that are the same on every machine. For
// generators of networks; one builder, one model.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace quotient::networks {

struct ConvOptions {
  int64_t stride = 1;
  int64_t pad = 0;
  int64_t groups = 1;
};

class NetworkBuilder {
 public:
  // Opset 17, IR 8, weights drawn from `seed`.
  NetworkBuilder(const std::string& name, uint64_t seed);

  // A float32 input; a dim_param where a dimension is not a number.
  std::string Input(const std::string& name, const std::vector<std::string>& dims);
  void Output(const std::string& value, const std::vector<std::string>& dims);

  // Each returns the name of its output. Weights are uniform with the variance that keeps
  // activations from growing (He et al., 2015).
  std::string Conv(const std::string& x, int64_t in_channels, int64_t out_channels, int64_t kernel,
                   const ConvOptions& options = {});
  // Inference form: scale and variance near 1, mean and bias near 0.
  std::string BatchNorm(const std::string& x, int64_t channels);
  std::string Relu(const std::string& x);
  std::string MaxPool(const std::string& x, int64_t kernel, int64_t stride);
  std::string GlobalAveragePool(const std::string& x);
  std::string Concat(const std::vector<std::string>& xs, int64_t axis);
  std::string Flatten(const std::string& x);
  std::string Softmax(const std::string& x, int64_t axis);
  std::string Add(const std::string& a, const std::string& b);

  ::onnx::ModelProto Build() && { return std::move(model_); }

 private:
  ::onnx::NodeProto* Node(const std::string& op, const std::vector<std::string>& inputs);
  static void SetInts(::onnx::NodeProto* node, const std::string& name,
                      const std::vector<int64_t>& values);
  static void SetInt(::onnx::NodeProto* node, const std::string& name, int64_t value);
  std::string Weight(const std::string& name, const std::vector<int64_t>& dims, double low,
                     double high);

  ::onnx::ModelProto model_;
  Rng rng_;
  int nodes_ = 0;
};

}  // namespace quotient::networks
