#include "core/rules/conv_window.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/rules/types.h"

namespace quotient::rules {
namespace {

bool All(const Ints& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value == wanted; });
}

}  // namespace

int64_t Convolution::taps() const {
  return std::accumulate(kernel.begin(), kernel.end(), int64_t{1}, std::multiplies<>());
}

bool Convolution::IsPointwise() const { return All(kernel, 1) && All(strides, 1) && !HasPads(); }

bool Convolution::HasPads() const { return !All(pads, 0); }

std::optional<Convolution> ReadConvolution(const OpWord& word, const TensorType& weight) {
  if (word.sort != OpWord::Sort::kOperator || word.name != "Conv" || !weight.is_static() ||
      weight.rank() < 3 || word.attributes.Has("auto_pad")) {
    return std::nullopt;
  }
  const std::vector<int64_t> dims = weight.dims();
  const size_t spatial = dims.size() - 2;
  Convolution conv;
  conv.group = word.attributes.GetInt("group", 1);
  conv.kernel.assign(dims.begin() + 2, dims.end());
  conv.strides = word.attributes.GetInts("strides", Ints(spatial, 1));
  conv.dilations = word.attributes.GetInts("dilations", Ints(spatial, 1));
  conv.pads = word.attributes.GetInts("pads", Ints(2 * spatial, 0));
  conv.out_channels = dims[0];
  conv.in_channels_per_group = dims[1];
  if (conv.strides.size() != spatial || conv.dilations.size() != spatial ||
      conv.pads.size() != 2 * spatial || conv.group < 1) {
    return std::nullopt;
  }
  return conv;
}

AttributeMap ConvolutionAttributes(const Convolution& conv) {
  return {{"group", conv.group},
          {"strides", conv.strides},
          {"dilations", conv.dilations},
          {"pads", conv.pads}};
}

ClassId MakeConv(Terms& terms, const AttributeMap& attributes, ClassId x, ClassId weight,
                 std::optional<ClassId> bias) {
  if (bias.has_value()) return terms.Op("Conv", {x, weight, *bias}, attributes);
  return terms.Op("Conv", {x, weight}, attributes);
}

std::optional<Convolution> CommonWindow(std::span<const Convolution> convs) {
  Convolution common = convs[0];
  const int spatial = common.spatial();
  for (const Convolution& conv : convs) {
    if (conv.strides != common.strides || conv.dilations != common.dilations) return std::nullopt;
    for (int i = 0; i < 2 * spatial; ++i) common.pads[i] = std::max(common.pads[i], conv.pads[i]);
  }
  // Each zero added in front of or behind a kernel makes up for `dilation` more pads of the input.
  for (int axis = 0; axis < spatial; ++axis) {
    const int64_t dilation = common.dilations[axis];
    for (const Convolution& conv : convs) {
      const int64_t front = common.pads[axis] - conv.pads[axis];
      const int64_t back = common.pads[spatial + axis] - conv.pads[spatial + axis];
      if (front % dilation != 0 || back % dilation != 0) return std::nullopt;
      const int64_t kernel = conv.kernel[axis] + (front + back) / dilation;
      if (&conv == &convs[0]) common.kernel[axis] = kernel;
      if (common.kernel[axis] != kernel) return std::nullopt;
    }
  }
  return common;
}

ClassId EnlargeWeight(Terms& terms, ClassId weight, const Convolution& from,
                      const Convolution& to) {
  const int spatial = from.spatial();
  Ints pads(2 * from.rank(), 0);
  for (int axis = 0; axis < spatial; ++axis) {
    const int64_t dilation = from.dilations[axis];
    pads[2 + axis] = (to.pads[axis] - from.pads[axis]) / dilation;
    pads[from.rank() + 2 + axis] = (to.pads[spatial + axis] - from.pads[spatial + axis]) / dilation;
  }
  return weight.valid() ? terms.Pad(weight, std::move(pads)) : weight;
}

ClassId AlongInputs(Terms& terms, ClassId vector, const Convolution& conv) {
  if (!vector.valid()) return vector;
  Ints shape(conv.rank(), 1);
  if (conv.group == 1) {
    shape[1] = -1;
  } else if (conv.in_channels_per_group == 1 && conv.out_channels == conv.group) {
    shape[0] = -1;  // Depthwise: output channel o reads only input channel o.
  } else {
    return ClassId();
  }
  return terms.Reshape(vector, std::move(shape));
}

Affine BatchNormAffine(Terms& terms, const OpWord& word, ClassId scale, ClassId shift, ClassId mean,
                       ClassId variance) {
  if (word.attributes.GetInt("training_mode", 0) != 0) return {};
  const model::DType dtype = terms.type(variance).dtype;
  const double epsilon = word.attributes.GetFloat("epsilon", 1e-5f);
  const ClassId root =
      terms.Op("Sqrt", {terms.Op("Add", {variance, terms.Filled(dtype, {1}, epsilon)})});
  const ClassId factor = terms.Op("Div", {scale, root});
  return {factor, terms.Op("Sub", {shift, terms.Op("Mul", {mean, factor})})};
}

}  // namespace quotient::rules
