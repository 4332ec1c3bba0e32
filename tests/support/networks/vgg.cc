#include "tests/support/networks/conv_net.h"
#include "tests/support/networks/networks.h"

namespace quotient::networks {
namespace {

struct Stage {
  int convolutions;
  int64_t channels;
};
constexpr Stage kStages[] = {{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}};

class VggBuilder {
 public:
  explicit VggBuilder(const NetworkOptions& options)
      : paper_(options.paper()),
        net_("vgg19", 13, options.batch, {"input", 3, 224},
             {.bias = !paper_, .batch_norm = options.batch_norm}) {}

  ::onnx::ModelProto Build() && {
    Image x = net_.input();
    for (const Stage& stage : kStages) {
      for (int i = 0; i < stage.convolutions; ++i) x = net_.ConvRelu(x, stage.channels, 3);
      x = net_.MaxPool(x, 2, {.stride = 2, .padding = Padding::kValid});
    }
    const int64_t features = x.channels * x.size * x.size;
    net_.OutputClasses(paper_ ? PaperHead(x.value, features) : Head(x.value, features), 1000);
    return std::move(net_).Build();
  }

 private:
  std::string Head(std::string x, int64_t features) {
    NetworkBuilder& builder = net_.builder();
    x = builder.Relu(builder.Gemm(builder.Flatten(x), features, 4096, 2));
    x = builder.Relu(builder.Gemm(x, 4096, 4096, 2));
    return builder.Softmax(builder.Gemm(x, 4096, 1000, 1), 1);
  }

  std::string PaperHead(std::string x, int64_t features) {
    NetworkBuilder& builder = net_.builder();
    x = builder.Reshape(x, {0, features});
    x = TransposedProduct(x, "fc1.weight", features, 4096, 2);
    x = builder.Reshape(builder.Dropout(builder.Relu(x)), {0, 4096});
    x = TransposedProduct(x, "fc2.weight", 4096, 4096, 2);
    x = builder.Reshape(builder.Dropout(builder.Relu(x)), {0, 4096});
    return TransposedProduct(x, "fc3.weight", 4096, 1000, 1);
  }

  // Multiplies x by a weight [out, in], which the graph transposes.
  std::string TransposedProduct(const std::string& x, const std::string& name, int64_t in,
                                int64_t out, double gain) {
    NetworkBuilder& builder = net_.builder();
    const std::string weight = builder.Weight(name, {out, in}, in, gain);
    return builder.MatMul(x, builder.Transpose(weight, {1, 0}));
  }

  const bool paper_;
  ConvNet net_;
};

}  // namespace

::onnx::ModelProto Vgg19(const NetworkOptions& options) { return VggBuilder(options).Build(); }

}  // namespace quotient::networks
