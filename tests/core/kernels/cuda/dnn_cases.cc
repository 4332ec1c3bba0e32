#include "tests/core/kernels/cuda/dnn_cases.h"

#include <functional>
#include <utility>

#include "tests/core/kernels/cuda/dnn_graph_maker.h"

namespace quotient::kernels::cuda {

namespace {

constexpr int64_t kSide = 8;
constexpr int64_t kChannels = 32;
const Dims kImage = {2, kChannels, kSide, kSide};
const Dims kPerChannel = {1, kChannels, 1, 1};

// 3x3, one pixel of padding.
int Conv3x3(DnnGraphMaker& m, int x, const Dims& image, int64_t channels, int64_t per_group) {
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
int Conv3x3(DnnGraphMaker& m) { return Conv3x3(m, m.Image(kImage), kImage, kChannels, kChannels); }
int Bias(DnnGraphMaker& m, int y) { return m.Pointwise(DnnMode::kAdd, {y, m.Image(kPerChannel)}); }
int Residual(DnnGraphMaker& m, int y) { return m.Pointwise(DnnMode::kAdd, {y, m.Image(kImage)}); }
int Relu(DnnGraphMaker& m, int y) { return m.Pointwise(DnnMode::kRelu, {y}); }
// Between 0 and `upper`.
int Clip(DnnGraphMaker& m, int y, float upper) {
  return m.Pointwise(DnnMode::kMin, {Relu(m, y), m.Number(upper, 4)});
}

int Product(DnnGraphMaker& m, int a, int b, Dims dims) {
  Dims strides = RowMajor(dims);
  return m.Node({.op = DnnOp::kProduct, .inputs = {a, b}}, std::move(dims), std::move(strides));
}
int Product(DnnGraphMaker& m, int64_t batch, int64_t rows, int64_t depth, int64_t columns) {
  return Product(m, m.Plain({batch, rows, depth}), m.Plain({batch, depth, columns}),
                 {batch, rows, columns});
}
int RowBias(DnnGraphMaker& m, int y, int64_t columns) {
  return m.Pointwise(DnnMode::kAdd, {y, m.Plain({1, 1, columns})});
}

using Cases = std::vector<DnnCase>;
// `make` returns the tensor that is the graph's output.
using Make = std::function<int(DnnGraphMaker&)>;
using Adder = std::function<void(std::string, const Make&)>;

void AddConvolutions(const Adder& add) {
  add("conv", [](DnnGraphMaker& m) { return Conv3x3(m); });
  add("conv_bias", [](DnnGraphMaker& m) { return Bias(m, Conv3x3(m)); });
  add("conv_bias_relu", [](DnnGraphMaker& m) { return Relu(m, Bias(m, Conv3x3(m))); });
  add("conv_relu", [](DnnGraphMaker& m) { return Relu(m, Conv3x3(m)); });
  add("conv_residual_bias_relu",
      [](DnnGraphMaker& m) { return Relu(m, Bias(m, Residual(m, Conv3x3(m)))); });
  add("conv_bias_residual_relu",
      [](DnnGraphMaker& m) { return Relu(m, Residual(m, Bias(m, Conv3x3(m)))); });
  const std::vector<std::pair<std::string, DnnMode>> activations = {
      {"sigmoid", DnnMode::kSigmoid},      {"tanh", DnnMode::kTanh},
      {"gelu_erf", DnnMode::kGeluErf},     {"gelu_tanh", DnnMode::kGeluTanh},
      {"swish", DnnMode::kSwish},          {"elu", DnnMode::kElu},
      {"leaky_relu", DnnMode::kLeakyRelu},
  };
  for (const auto& [name, mode] : activations) {
    add("conv_bias_" + name,
        [mode = mode](DnnGraphMaker& m) { return m.Pointwise(mode, {Bias(m, Conv3x3(m))}); });
  }
  add("conv_bias_clip", [](DnnGraphMaker& m) { return Clip(m, Bias(m, Conv3x3(m)), 0.25F); });
  add("conv_bias_hard_swish", [](DnnGraphMaker& m) {
    const int biased = Bias(m, Conv3x3(m));
    const int scaled = m.Pointwise(DnnMode::kMul, {biased, m.Number(1.0F / 6, 4)});
    const int shifted = m.Pointwise(DnnMode::kAdd, {scaled, m.Number(0.5F, 4)});
    return m.Pointwise(DnnMode::kMul, {biased, Clip(m, shifted, 1)});
  });
  add("conv_scale_bias_relu", [](DnnGraphMaker& m) {
    const int scaled = m.Pointwise(DnnMode::kMul, {Conv3x3(m), m.Image(kPerChannel)});
    return Relu(m, Bias(m, scaled));
  });
  add("grouped_conv_bias_relu", [](DnnGraphMaker& m) {
    return Relu(m, Bias(m, Conv3x3(m, m.Image(kImage), kImage, kChannels, kChannels / 4)));
  });
  add("depthwise_conv",
      [](DnnGraphMaker& m) { return Conv3x3(m, m.Image(kImage), kImage, kChannels, 1); });
  add("depthwise_conv_bias_relu", [](DnnGraphMaker& m) {
    return Relu(m, Bias(m, Conv3x3(m, m.Image(kImage), kImage, kChannels, 1)));
  });
  add("relu_conv", [](DnnGraphMaker& m) {
    return Conv3x3(m, m.Rounded(Relu(m, m.Image(kImage))), kImage, kChannels, kChannels);
  });
  add("conv_conv", [](DnnGraphMaker& m) {
    return Conv3x3(m, m.Rounded(Conv3x3(m)), kImage, kChannels, kChannels);
  });
}

void AddOtherConvolutions(const Adder& add) {
  add("conv_7x7_stride_2_uneven_pads", [](DnnGraphMaker& m) {
    const Dims out = {1, 64, 8, 8};
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image({1, 4, 16, 16}), m.Image({64, 4, 7, 7})},
                   .pads_begin = {2, 2},
                   .pads_end = {3, 3},
                   .strides = {2, 2},
                   .dilations = {1, 1}},
                  out, ChannelsLast(out));
  });
  add("conv_3_channels", [](DnnGraphMaker& m) {
    const Dims out = {1, 32, 16, 16};
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image({1, 3, 32, 32}), m.Image({32, 3, 3, 3})},
                   .pads_begin = {0, 0},
                   .pads_end = {1, 1},
                   .strides = {2, 2},
                   .dilations = {1, 1}},
                  out, ChannelsLast(out));
  });
  add("dilated_conv", [](DnnGraphMaker& m) {
    return m.Node({.op = DnnOp::kConvolution,
                   .inputs = {m.Image(kImage), m.Image({kChannels, kChannels, 3, 3})},
                   .pads_begin = {2, 2},
                   .pads_end = {2, 2},
                   .strides = {1, 1},
                   .dilations = {2, 2}},
                  kImage, ChannelsLast(kImage));
  });
  add("conv_3d_bias_relu", [](DnnGraphMaker& m) {
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
  const auto transposed = [](DnnGraphMaker& m) {
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
  add("transposed_conv_bias_relu", [transposed](DnnGraphMaker& m) {
    const int y = transposed(m);
    return Relu(m, m.Pointwise(DnnMode::kAdd, {y, m.Image({1, 16, 1, 1})}));
  });
}

void AddProducts(const Adder& add) {
  add("product", [](DnnGraphMaker& m) { return Product(m, 1, 64, 96, 128); });
  add("product_batched", [](DnnGraphMaker& m) { return Product(m, 4, 32, 64, 48); });
  add("product_odd", [](DnnGraphMaker& m) { return Product(m, 1, 33, 65, 17); });
  add("product_of_a_row", [](DnnGraphMaker& m) { return Product(m, 1, 1, 256, 512); });
  add("product_transposed_b", [](DnnGraphMaker& m) {
    return Product(m, m.Plain({1, 64, 96}), m.Add({1, 96, 128}, {96 * 128, 1, 96}), {1, 64, 128});
  });
  add("product_bias_gelu", [](DnnGraphMaker& m) {
    return m.Pointwise(DnnMode::kGeluErf, {RowBias(m, Product(m, 1, 64, 96, 128), 128)});
  });
  add("product_bias_relu_residual", [](DnnGraphMaker& m) {
    const int y = Relu(m, RowBias(m, Product(m, 1, 64, 96, 128), 128));
    return m.Pointwise(DnnMode::kAdd, {y, m.Plain({1, 64, 128})});
  });
  add("gated_product", [](DnnGraphMaker& m) {  // silu(x W1) * (x W2)
    const int x = m.Plain({1, 64, 96});
    const int gate = Product(m, x, m.Plain({1, 96, 128}), {1, 64, 128});
    const int value = Product(m, x, m.Plain({1, 96, 128}), {1, 64, 128});
    return m.Pointwise(DnnMode::kMul, {m.Pointwise(DnnMode::kSwish, {gate}), value});
  });
  add("relu_product", [](DnnGraphMaker& m) {
    return Product(m, m.Rounded(Relu(m, m.Plain({1, 64, 96}))), m.Plain({1, 96, 128}),
                   {1, 64, 128});
  });
}

void AddAttention(const Adder& add) {
  const Dims heads = {2, 4, 32, 64};
  const auto attention = [heads](DnnGraphMaker& m, bool has_bias) {
    std::vector<int> inputs = {m.Plain(heads), m.Plain(heads), m.Plain(heads)};
    if (has_bias) inputs.push_back(m.Plain({2, 4, 32, 32}));
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  };
  add("attention", [attention](DnnGraphMaker& m) { return attention(m, false); });
  add("attention_bias", [attention](DnnGraphMaker& m) { return attention(m, true); });
  add("attention_mask", [heads](DnnGraphMaker& m) {
    const std::vector<int> inputs = {m.Plain(heads), m.Plain(heads), m.Plain(heads),
                                     m.Plain({2, 1, 1, 32})};
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  });
  add("attention_of_77_keys", [heads](DnnGraphMaker& m) {
    const Dims keys = {2, 4, 77, 64};
    return m.Node({.op = DnnOp::kAttention,
                   .inputs = {m.Plain(heads), m.Plain(keys), m.Plain(keys)},
                   .scale = 0.125},
                  heads, RowMajor(heads));
  });
  add("attention_keys_as_columns", [heads](DnnGraphMaker& m) {
    const std::vector<int> inputs = {m.Plain(heads), m.Add(heads, {4 * 32 * 64, 32 * 64, 1, 32}),
                                     m.Plain(heads)};
    return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, heads,
                  RowMajor(heads));
  });
  add("attention_heads_last",
      [](DnnGraphMaker& m) {  // as it comes out of a projection: [b, l, h, s]
        const Dims dims = {2, 4, 32, 64};
        const Dims strides = {32 * 4 * 64, 64, 4 * 64, 1};
        const std::vector<int> inputs = {m.Add(dims, strides), m.Add(dims, strides),
                                         m.Add(dims, strides)};
        return m.Node({.op = DnnOp::kAttention, .inputs = inputs, .scale = 0.125}, dims, strides);
      });
}

void AddPointwise(const Adder& add) {
  const Dims dims = {4, 32, 64};
  add("chain", [dims](DnnGraphMaker& m) {
    const int x = m.Pointwise(DnnMode::kAdd, {m.Plain(dims), m.Plain(dims)});
    return m.Pointwise(DnnMode::kGeluErf, {m.Pointwise(DnnMode::kMul, {x, m.Number(0.5F, 3)})});
  });
  add("tree_of_four", [dims](DnnGraphMaker& m) {
    const int a = m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain(dims)});
    const int b = m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain(dims)});
    return m.Pointwise(DnnMode::kTanh, {m.Pointwise(DnnMode::kAdd, {a, b})});
  });
  add("broadcast_row", [](DnnGraphMaker& m) {
    return m.Pointwise(DnnMode::kAdd, {m.Plain({1, 128, 64}), m.Plain({1, 1, 64})});
  });
  add("broadcast_column", [dims](DnnGraphMaker& m) {
    return m.Pointwise(DnnMode::kMul, {m.Plain(dims), m.Plain({4, 32, 1})});
  });
  add("transposed_operand", [dims](DnnGraphMaker& m) {
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
    add("reduce_" + name, [=, mode = mode](DnnGraphMaker& m) {
      return m.Node({.op = DnnOp::kReduction, .mode = mode, .inputs = {m.Image(rows)}}, one,
                    ChannelsLast(one));
    });
  }
  add("layer_norm", [=](DnnGraphMaker& m) {
    return m.Node({.op = DnnOp::kLayerNorm,
                   .inputs = {m.Image(rows), m.Image(row), m.Image(row)},
                   .epsilon = 1e-5},
                  rows, ChannelsLast(rows));
  });
  add("add_layer_norm", [=](DnnGraphMaker& m) {
    const int sum = m.Pointwise(DnnMode::kAdd, {m.Image(rows), m.Image(rows)});
    return m.Node(
        {.op = DnnOp::kLayerNorm, .inputs = {sum, m.Image(row), m.Image(row)}, .epsilon = 1e-5},
        rows, ChannelsLast(rows));
  });
  add("rms_norm", [=](DnnGraphMaker& m) {
    return m.Node({.op = DnnOp::kRmsNorm, .inputs = {m.Image(rows), m.Image(row)}, .epsilon = 1e-5},
                  rows, ChannelsLast(rows));
  });
}

void AddPools(const Adder& add) {
  const auto pool = [](DnnGraphMaker& m, DnnMode mode, int x) {
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
    add(name, [=, mode = mode](DnnGraphMaker& m) { return pool(m, mode, m.Image(kImage)); });
  }
}

}  // namespace

std::vector<DnnCase> DnnCases(model::DType type, MathPolicy policy) {
  Cases cases;
  const Adder add = [&](std::string name, const Make& make) {
    DnnGraphMaker maker(type, policy);
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
