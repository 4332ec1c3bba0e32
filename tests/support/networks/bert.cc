#include <cmath>
#include <numbers>

#include "tests/support/networks/network_builder.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr int kLayers = 8;
constexpr int64_t kHidden = 1024;
constexpr int64_t kHeads = 16;
constexpr int64_t kHeadSize = kHidden / kHeads;

// The encoder. Each layer adds the result of attention to its input, then the result of two fully
// connected layers, and normalizes both sums.
class BertBuilder {
 public:
  explicit BertBuilder(const NetworkOptions& options)
      : batch_(options.batch), builder_("bert", 12) {}

  ::onnx::ModelProto Build() && {
    half_ = builder_.Scalar("half", 0.5);
    one_ = builder_.Scalar("one", 1);
    sqrt2_ = builder_.Scalar("sqrt2", static_cast<float>(std::numbers::sqrt2));
    logit_divisor_ = builder_.Scalar("logit_divisor", std::sqrt(static_cast<float>(kHeadSize)));
    std::string x = builder_.Input("input", {batch_, "64", "1024"});
    for (int i = 0; i < kLayers; ++i) {
      x = builder_.LayerNorm(builder_.Add(Attention(x), x), kHidden);
      x = builder_.LayerNorm(builder_.Add(FeedForward(x), x), kHidden);
    }
    builder_.Output(x, {batch_, "64", "1024"});
    return std::move(builder_).Build();
  }

 private:
  std::string Dense(const std::string& x, int64_t in, int64_t out) {
    return builder_.AddBias(builder_.Project(x, in, out, 1), out);
  }

  std::string Heads(const std::string& x, const std::vector<int64_t>& permutation) {
    const std::string split =
        builder_.Reshape(Dense(x, kHidden, kHidden), {0, 0, kHeads, kHeadSize});
    return builder_.Transpose(split, permutation);
  }

  std::string Attention(const std::string& x) {
    const std::string q = Heads(x, {0, 2, 1, 3});
    const std::string k = Heads(x, {0, 2, 3, 1});
    const std::string v = Heads(x, {0, 2, 1, 3});
    const std::string logits = builder_.Div(builder_.MatMul(q, k), logit_divisor_);
    const std::string found = builder_.MatMul(builder_.Softmax(logits, -1), v);
    const std::string joined =
        builder_.Reshape(builder_.Transpose(found, {0, 2, 1, 3}), {0, 0, kHidden});
    return Dense(joined, kHidden, kHidden);
  }

  std::string FeedForward(const std::string& x) {
    return Dense(Gelu(Dense(x, kHidden, 4 * kHidden)), 4 * kHidden, kHidden);
  }

  // x / 2 (1 + erf(x / sqrt 2)), as exporters write it before opset 20.
  std::string Gelu(const std::string& x) {
    const std::string erf = builder_.Erf(builder_.Div(x, sqrt2_));
    return builder_.Mul(builder_.Mul(x, builder_.Add(erf, one_)), half_);
  }

  const std::string batch_;
  NetworkBuilder builder_;
  std::string half_, one_, sqrt2_, logit_divisor_;
};

// The papers' variant. It has no bias, scale, softmax, residual or normalization, and k is not
// transposed. No layer reads the result of the previous layer's attention; these results are
// outputs.
class PaperBertBuilder {
 public:
  PaperBertBuilder() : builder_("bert_paper", 12) {}

  ::onnx::ModelProto Build() && {
    std::string x = builder_.Relu(builder_.Input("input", {"64", "1024"}));
    for (int i = 0; i < kLayers; ++i) {
      builder_.Output(Attention(x), {"64", "1024"});
      x = builder_.Project(x, kHidden, kHidden, 1);
    }
    builder_.Output(x, {"64", "1024"});
    return std::move(builder_).Build();
  }

 private:
  // q, k and v are small, so that their product is not large. x, a standard normal input behind a
  // Relu, has a mean square of 1/2, and each of the three has 1/16. The two products in a row have
  // 64 terms each, so the result has a mean square of 64 * 64 / 16^3 = 1.
  std::string Heads(const std::string& x) {
    const std::string projected = builder_.Project(x, kHidden, kHidden, 1.0 / 8);
    return builder_.Transpose(builder_.Reshape(projected, {64, kHeads, kHeadSize}), {1, 0, 2});
  }

  std::string Attention(const std::string& x) {
    const std::string q = Heads(x), k = Heads(x), v = Heads(x);
    const std::string found = builder_.MatMul(builder_.MatMul(q, k), v);
    return builder_.Reshape(builder_.Transpose(found, {1, 0, 2}), {64, kHidden});
  }

  NetworkBuilder builder_;
};

}  // namespace

::onnx::ModelProto Bert(const NetworkOptions& options) {
  return options.paper() ? PaperBertBuilder().Build() : BertBuilder(options).Build();
}

}  // namespace quotient::networks
