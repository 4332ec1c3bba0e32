#include <array>

#include "absl/strings/str_cat.h"
#include "tests/support/networks/network_builder.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

constexpr int kSteps = 5;
constexpr int kGates = 8;
constexpr int64_t kHidden = 512;

// The cell of TensorFlow (NASCell). All steps share one weight for the input and one for the state,
// each for all gates, and the cell has a second state.
class NasRnnBuilder {
 public:
  explicit NasRnnBuilder(const NetworkOptions& options)
      : batch_(options.batch), builder_("nasrnn", 18) {}

  ::onnx::ModelProto Build() && {
    for (int i = 0; i < kSteps; ++i) builder_.Input(absl::StrCat("x", i), {batch_, "512"});
    state_ = builder_.Input("state", {batch_, "512"});
    cell_ = builder_.Input("cell", {batch_, "512"});
    const int64_t width = kGates * kHidden;
    input_weight_ = builder_.Weight("kernel", {kHidden, width}, kHidden, 1);
    state_weight_ = builder_.Weight("recurrent_kernel", {kHidden, width}, kHidden, 1);
    bias_ = builder_.Bias("bias", width);
    for (int i = 0; i < kSteps; ++i) Step(absl::StrCat("x", i));
    builder_.Output(state_, {batch_, "512"});
    builder_.Output(cell_, {batch_, "512"});
    return std::move(builder_).Build();
  }

 private:
  void Step(const std::string& x) {
    NetworkBuilder& b = builder_;
    const std::vector<std::string> in = b.Split(b.MatMul(x, input_weight_), kGates, 1);
    const std::vector<std::string> st =
        b.Split(b.Add(b.MatMul(state_, state_weight_), bias_), kGates, 1);
    const std::string g0 = b.Sigmoid(b.Add(in[0], st[0]));
    const std::string g1 = b.Relu(b.Add(in[1], st[1]));
    const std::string g2 = b.Sigmoid(b.Add(in[2], st[2]));
    const std::string g3 = b.Relu(b.Mul(in[3], st[3]));
    const std::string g4 = b.Tanh(b.Add(in[4], st[4]));
    const std::string g5 = b.Sigmoid(b.Add(in[5], st[5]));
    const std::string g6 = b.Tanh(b.Add(in[6], st[6]));
    const std::string g7 = b.Sigmoid(b.Add(in[7], st[7]));
    const std::string m0 = b.Tanh(b.Mul(g0, g1));
    const std::string m1 = b.Tanh(b.Add(g2, g3));
    const std::string m2 = b.Tanh(b.Mul(g4, g5));
    const std::string m3 = b.Sigmoid(b.Add(g6, g7));
    cell_ = b.Mul(b.Tanh(b.Add(m0, cell_)), m1);
    state_ = b.Tanh(b.Mul(cell_, b.Tanh(b.Add(m2, m3))));
  }

  const std::string batch_;
  NetworkBuilder builder_;
  std::string state_, cell_;
  std::string input_weight_, state_weight_, bias_;
};

// The papers' variant. Each gate and step has its own weights. There is one state, which begins as
// a weight.
class PaperNasRnnBuilder {
 public:
  explicit PaperNasRnnBuilder(const NetworkOptions& options)
      : batch_(options.batch), builder_("nasrnn_paper", 18) {}

  ::onnx::ModelProto Build() && {
    for (int i = 0; i < kSteps; ++i) builder_.Input(absl::StrCat("x", i), {batch_, "512"});
    std::string state = builder_.Weight("state", {1, kHidden}, 1, 1);
    for (int i = 0; i < kSteps; ++i) state = Step(absl::StrCat("x", i), state);
    builder_.Output(state, {batch_, "512"});
    return std::move(builder_).Build();
  }

 private:
  std::string Step(const std::string& x, const std::string& state) {
    NetworkBuilder& b = builder_;
    std::array<std::string, kGates> t;
    for (std::string& gate : t) {
      const std::string from_input = b.Project(x, kHidden, kHidden, 1);
      gate = b.Add(from_input, b.Project(state, kHidden, kHidden, 1));
    }
    const std::string r0 = b.Relu(t[0]), s1 = b.Sigmoid(t[1]), h2 = b.Tanh(t[2]);
    const std::string s3 = b.Sigmoid(t[3]), s4 = b.Sigmoid(t[4]), h5 = b.Tanh(t[5]);
    const std::string s6 = b.Sigmoid(t[6]), r7 = b.Relu(t[7]);
    const std::string m0 = b.Tanh(b.Add(r0, s3));
    const std::string m1 = b.Sigmoid(b.Add(s1, h2));
    const std::string m2 = b.Tanh(b.Mul(s4, h5));
    const std::string m3 = b.Tanh(b.Mul(s6, r7));
    const std::string m4 = b.Tanh(b.Add(m1, m2));
    const std::string m5 = b.Tanh(b.Mul(m0, m3));
    return b.Tanh(b.Mul(m4, m5));
  }

  const std::string batch_;
  NetworkBuilder builder_;
};

}  // namespace

::onnx::ModelProto NasRnn(const NetworkOptions& options) {
  return options.paper() ? PaperNasRnnBuilder(options).Build() : NasRnnBuilder(options).Build();
}

}  // namespace quotient::networks
