#include "tests/core/kernels/cuda/dnn_cases.h"

#include <functional>
#include <numeric>
#include <utility>

namespace quotient::kernels::cuda {

namespace {

using Dims = std::vector<int64_t>;

Dims RowMajor(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// [N, C, spatial...] with channels last in memory.
Dims ChannelsLast(const Dims& dims) {
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
class Maker {
 public:
  Maker(model::DType type, MathPolicy policy) : type_(type) { graph_.policy = policy; }

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
    return Node({.op = DnnOp::kPointwise,
                 .mode = mode,
                 .inputs = std::move(inputs),
                 .upper = 6,
                 .slope = 0.125},
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

constexpr int64_t kSide = 8;
constexpr int64_t kChannels = 32;
const Dims kImage = {2, kChannels, kSide, kSide};
const Dims kPerChannel = {1, kChannels, 1, 1};

// 3x3, one pixel of padding.
int Conv3x3(Maker& m, int x, const Dims& image, int64_t channels, int64_t per_group) {
  const int w = m.Image({channels, per_group, 3, 3});
  return m.Node({.op = DnnOp::kConvolution,
                 .inputs = {x, w},
                 .pads_begin = {1, 1},
                 .pads_end = {1, 1},
                 .strides = {1, 1},
                 .dilations = {1, 1}},
                {image[0], channels, image[2], image[3]},
                ChannelsLast({image[0], channels, image[2], image[3]}));
}
int Conv3x3(Maker& m) { return Conv3x3(m, m.Image(kImage), kImage, kChannels, kChannels); }
int Bias(Maker& m, int y) { return m.Pointwise(DnnMode::kAdd, {y, m.Image(kPerChannel)}); }
int Residual(Maker& m, int y) { return m.Pointwise(DnnMode::kAdd, {y, m.Image(kImage)}); }
int Relu(Maker& m, int y) { return m.Pointwise(DnnMode::kRelu, {y}); }

int Product(Maker& m, int a, int b, Dims dims) {
  Dims strides = RowMajor(dims);
  return m.Node({.op = DnnOp::kProduct, .inputs = {a, b}}, std::move(dims), std::move(strides));
}
int Product(Maker& m, int64_t batch, int64_t rows, int64_t depth, int64_t columns) {
  return Product(m, m.Plain({batch, rows, depth}), m.Plain({batch, depth, columns}),
                 {batch, rows, columns});
}
int RowBias(Maker& m, int y, int64_t columns) {
  return m.Pointwise(DnnMode::kAdd, {y, m.Plain({1, 1, columns})});
}

using Cases = std::vector<DnnCase>;
// `make` returns the tensor that is the graph's output.
using Make = std::function<int(Maker&)>;
using Adder = std::function<void(std::string, const Make&)>;

void AddConvolutions(const Adder& add) {
  add("conv", [](Maker& m) { return Conv3x3(m); });
  add("conv_bias", [](Maker& m) { return Bias(m, Conv3x3(m)); });
  add("conv_bias_relu", [](Maker& m) { return Relu(m, Bias(m, Conv3x3(m))); });
  add("conv_relu", [](Maker& m) { return Relu(m, Conv3x3(m)); });
  add("conv_residual_bias_relu",
      [](Maker& m) { return Relu(m, Bias(m, Residual(m, Conv3x3(m)))); });
  add("conv_bias_residual_relu",
      [](Maker& m) { return Relu(m, Residual(m, Bias(m, Conv3x3(m)))); });
  const std::vector<std::pair<std::string, DnnMode>> activations = {
      {"sigmoid", DnnMode::kSigmoid},   {"tanh", DnnMode::kTanh},
      {"gelu_erf", DnnMode::kGeluErf},  {"gelu_tanh", DnnMode::kGeluTanh},
      {"swish", DnnMode::kSwish},       {"elu", DnnMode::kElu},
      {"relu6", DnnMode::kClippedRelu}, {"leaky_relu", DnnMode::kLeakyRelu},
  };
  for (const auto& [name, mode] : activations) {
    add("conv_bias_" + name,
        [mode = mode](Maker& m) { return m.Pointwise(mode, {Bias(m, Conv3x3(m))}); });
  }
  add("conv_bias_hard_swish", [](Maker& m) {
    const int biased = Bias(m, Conv3x3(m));
    const int scaled = m.Pointwise(DnnMode::kMul, {biased, m.Number(1.0F / 6, 4)});
    const int shifted = m.Pointwise(DnnMode::kAdd, {scaled, m.Number(0.5F, 4)});
    return m.Pointwise(DnnMode::kMul, {biased, m.Pointwise(DnnMode::kClippedRelu, {shifted})});
  });
  add("conv_scale_bias_relu", [](Maker& m) {
    const int scaled = m.Pointwise(DnnMode::kMul, {Conv3x3(m), m.Image(kPerChannel)});
    return Relu(m, Bias(m, scaled));
  });
  add("grouped_conv_bias_relu", [](Maker& m) {
    return Relu(m, Bias(m, Conv3x3(m, m.Image(kImage), kImage, kChannels, kChannels / 4)));
  });
  add("depthwise_conv", [](Maker& m) { return Conv3x3(m, m.Image(kImage), kImage, kChannels, 1); });
  add("depthwise_conv_bias_relu",
      [](Maker& m) { return Relu(m, Bias(m, Conv3x3(m, m.Image(kImage), kImage, kChannels, 1))); });
  add("relu_conv", [](Maker& m) {
    return Conv3x3(m, m.Rounded(Relu(m, m.Image(kImage))), kImage, kChannels, kChannels);
  });
  add("conv_conv",
      [](Maker& m) { return Conv3x3(m, m.Rounded(Conv3x3(m)), kImage, kChannels, kChannels); });
}

void AddOtherConvolutions(const Adder& add) {
  add("conv_7x7_stride_2_uneven_pads", [](Maker& m) {
    const Dims out = {1, 64, 8, 8};
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image({1, 4, 16, 16}), m.Image({64, 4, 7, 7})},
                   .pads_begin = {2, 2},
                   .pads_end = {3, 3},
                   .strides = {2, 2},
                   .dilations = {1, 1}},
                  out, ChannelsLast(out));
  });
  add("conv_3_channels", [](Maker& m) {
    const Dims out = {1, 32, 16, 16};
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image({1, 3, 32, 32}), m.Image({32, 3, 3, 3})},
                   .pads_begin = {0, 0},
                   .pads_end = {1, 1},
                   .strides = {2, 2},
                   .dilations = {1, 1}},
                  out, ChannelsLast(out));
  });
  add("dilated_conv", [](Maker& m) {
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image(kImage), m.Image({kChannels, kChannels, 3, 3})},
                   .pads_begin = {2, 2},
                   .pads_end = {2, 2},
                   .strides = {1, 1},
                   .dilations = {2, 2}},
                  kImage, ChannelsLast(kImage));
  });
  add("conv_3d_bias_relu", [](Maker& m) {
    const Dims image = {1, 32, 4, 4, 4};
    const int y = m.Node({.op = DnnOp::kConvolution,
                          .inputs = {m.Image(image), m.Image({32, 32, 3, 3, 3})},
                          .pads_begin = {1, 1, 1},
                          .pads_end = {1, 1, 1},
                          .strides = {1, 1, 1},
                          .dilations = {1, 1, 1}},
                         image, ChannelsLast(image));
    const int biased = m.Pointwise(DnnMode::kAdd, {y, m.Image({1, 32, 1, 1, 1})});
    return m.Pointwise(DnnMode::kRelu, {biased});
  });
  const auto transposed = [](Maker& m) {
    const Dims out = {2, 16, 2 * kSide, 2 * kSide};
    return m.Node({.op = DnnOp::kTransposedConvolution,
                   .inputs = {m.Image(kImage), m.Image({kChannels, 16, 2, 2})},
                   .pads_begin = {0, 0},
                   .pads_end = {0, 0},
                   .strides = {2, 2},
                   .dilations = {1, 1}},
                  out, ChannelsLast(out));
  };
  add("transposed_conv", transposed);
  add("transposed_conv_bias_relu", [transposed](Maker& m) {
    const int y = transposed(m);
    return Relu(m, m.Pointwise(DnnMode::kAdd, {y, m.Image({1, 16, 1, 1})}));
  });
}

void AddProducts(const Adder& add) {
  add("product", [](Maker& m) { return Product(m, 1, 64, 96, 128); });
  add("product_batched", [](Maker& m) { return Product(m, 4, 32, 64, 48); });
  add("product_shared_b", [](Maker& m) {
    return Product(m, m.Plain({4, 32, 64}), m.Plain({1, 64, 48}), {4, 32, 48});
  });
  add("product_odd", [](Maker& m) { return Product(m, 1, 33, 65, 17); });
  add("product_of_a_row", [](Maker& m) { return Product(m, 1, 1, 256, 512); });
  add("product_transposed_b", [](Maker& m) {
    return Product(m, m.Plain({1, 64, 96}), m.Add({1, 96, 128}, {96 * 128, 1, 96}), {1, 64, 128});
  });
  add("product_bias_gelu", [](Maker& m) {
    return m.Pointwise(DnnMode::kGeluErf, {RowBias(m, Product(m, 1, 64, 96, 128), 128)});
  });
  add("product_bias_relu_residual", [](Maker& m) {
    const int y = Relu(m, RowBias(m, Product(m, 1, 64, 96, 128), 128));
    return m.Pointwise(DnnMode::kAdd, {y, m.Plain({1, 64, 128})});
  });
  add("two_products_added", [](Maker& m) {
    return m.Pointwise(DnnMode::kAdd, {Product(m, 1, 64, 96, 128), Product(m, 1, 64, 32, 128)});
  });
  add("two_products_of_a_row_tanh", [](Maker& m) {
    const int sum =
        m.Pointwise(DnnMode::kAdd, {Product(m, 1, 1, 128, 256), Product(m, 1, 1, 64, 256)});
    return m.Pointwise(DnnMode::kTanh, {sum});
  });
  add("gated_product", [](Maker& m) {  // silu(x W1) * (x W2)
    const int x = m.Plain({1, 64, 96});
    const int gate = Product(m, x, m.Plain({1, 96, 128}), {1, 64, 128});
    const int value = Product(m, x, m.Plain({1, 96, 128}), {1, 64, 128});
    return m.Pointwise(DnnMode::kMul, {m.Pointwise(DnnMode::kSwish, {gate}), value});
  });
  add("relu_product", [](Maker& m) {
    return Product(m, m.Rounded(Relu(m, m.Plain({1, 64, 96}))), m.Plain({1, 96, 128}),
                   {1, 64, 128});
  });
}

void AddAttention(const Adder& add) {
  const Dims heads = {2, 4, 32, 64};
  const auto attention = [heads](Maker& m, bool has_bias) {
    std::vector<int> inputs = {m.Plain(heads), m.Plain(heads), m.Plain(heads)};
    if (has_bias) inputs.push_back(m.Plain({2, 4, 32, 32}));
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  };
  add("attention", [attention](Maker& m) { return attention(m, false); });
  add("attention_bias", [attention](Maker& m) { return attention(m, true); });
  add("attention_mask", [heads](Maker& m) {
    const std::vector<int> inputs = {m.Plain(heads), m.Plain(heads), m.Plain(heads),
                                     m.Plain({2, 1, 1, 32})};
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  });
  add("attention_of_77_keys", [heads](Maker& m) {
    const Dims keys = {2, 4, 77, 64};
    return m.Node({.op = DnnOp::kAttention,
                   .inputs = {m.Plain(heads), m.Plain(keys), m.Plain(keys)},
                   .scale = 0.125},
                  heads, RowMajor(heads));
  });
  add("attention_keys_as_columns", [heads](Maker& m) {
    const std::vector<int> inputs = {m.Plain(heads), m.Add(heads, {4 * 32 * 64, 32 * 64, 1, 32}),
                                     m.Plain(heads)};
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  });
  add("attention_heads_last", [](Maker& m) {  // as it comes out of a projection: [b, l, h, s]
    const Dims dims = {2, 4, 32, 64};
    const Dims strides = {32 * 4 * 64, 64, 4 * 64, 1};
    const std::vector<int> inputs = {m.Add(dims, strides), m.Add(dims, strides),
                                     m.Add(dims, strides)};
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, dims, strides);
  });
}

void AddPointwise(const Adder& add) {
  const Dims dims = {4, 32, 64};
  add("chain", [dims](Maker& m) {
    const int x = m.Pointwise(DnnMode::kAdd, {m.Plain(dims), m.Plain(dims)});
    return m.Pointwise(DnnMode::kGeluErf, {m.Pointwise(DnnMode::kMul, {x, m.Number(0.5F, 3)})});
  });
  add("tree_of_four", [dims](Maker& m) {
    const int a = m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain(dims)});
    const int b = m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain(dims)});
    return m.Pointwise(DnnMode::kTanh, {m.Pointwise(DnnMode::kAdd, {a, b})});
  });
  add("broadcast_row", [dims](Maker& m) {
    return m.Pointwise(DnnMode::kAdd, {m.Plain(dims), m.Plain({1, 1, 64})});
  });
  add("broadcast_column", [dims](Maker& m) {
    return m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain({4, 32, 1})});
  });
  add("transposed_operand", [dims](Maker& m) {
    return m.Pointwise(DnnMode::kAdd, {m.Plain(dims), m.Add(dims, {32 * 64, 1, 32})});
  });
}

void AddRows(const Adder& add) {
  // Rows as cuDNN takes them: one pixel per row, the row's elements as channels.
  const Dims rows = {24, 64, 1, 1};
  const Dims one = {24, 1, 1, 1};
  const Dims row = {1, 64, 1, 1};
  const std::vector<std::pair<std::string, DnnMode>> reductions = {
      {"sum", DnnMode::kReduceSum}, {"mean", DnnMode::kReduceMean}, {"max", DnnMode::kReduceMax},
      {"min", DnnMode::kReduceMin}, {"prod", DnnMode::kReduceProd},
  };
  for (const auto& [name, mode] : reductions) {
    add("reduce_" + name, [=, mode = mode](Maker& m) {
      return m.Node({.op = DnnOp::kReduction, .mode = mode, .inputs = {m.Image(rows)}}, one,
                    ChannelsLast(one));
    });
  }
  add("layer_norm", [=](Maker& m) {
    return m.Node({.op = DnnOp::kLayerNorm,
                   .inputs = {m.Image(rows), m.Image(row), m.Image(row)},
                   .epsilon = 1e-5},
                  rows, ChannelsLast(rows));
  });
  add("add_layer_norm", [=](Maker& m) {
    const int sum = m.Pointwise(DnnMode::kAdd, {m.Image(rows), m.Image(rows)});
    return m.Node(
        {.op = DnnOp::kLayerNorm, .inputs = {sum, m.Image(row), m.Image(row)}, .epsilon = 1e-5},
        rows, ChannelsLast(rows));
  });
  add("rms_norm", [=](Maker& m) {
    return m.Node({.op = DnnOp::kRmsNorm, .inputs = {m.Image(rows), m.Image(row)}, .epsilon = 1e-5},
                  rows, ChannelsLast(rows));
  });
}

void AddPools(const Adder& add) {
  const auto pool = [](Maker& m, DnnMode mode, int x) {
    const Dims out = {2, kChannels, kSide / 2, kSide / 2};
    return m.Node({.op = DnnOp::kPool,
                   .mode = mode,
                   .inputs = {x},
                   .pads_begin = {1, 1},
                   .pads_end = {0, 0},
                   .strides = {2, 2},
                   .window = {3, 3}},
                  out, ChannelsLast(out));
  };
  const std::vector<std::pair<std::string, DnnMode>> modes = {
      {"max_pool", DnnMode::kMaxPool},
      {"average_pool_with_padding", DnnMode::kAveragePoolWithPadding},
      {"average_pool_without_padding", DnnMode::kAveragePoolWithoutPadding},
  };
  for (const auto& [name, mode] : modes) {
    add(name, [=, mode = mode](Maker& m) { return pool(m, mode, m.Image(kImage)); });
  }
  add("relu_max_pool",
      [=](Maker& m) { return pool(m, DnnMode::kMaxPool, m.Rounded(Relu(m, m.Image(kImage)))); });
}

}  // namespace

std::vector<DnnCase> DnnCases(model::DType type, MathPolicy policy) {
  Cases cases;
  const Adder add = [&](std::string name, const Make& make) {
    Maker maker(type, policy);
    const int output = make(maker);
    cases.push_back({std::move(name), maker.Output(output)});
  };
  AddConvolutions(add);
  AddOtherConvolutions(add);
  AddProducts(add);
  AddAttention(add);
  AddPointwise(add);
  AddRows(add);
  AddPools(add);
  return cases;
}

}  // namespace quotient::kernels::cuda
