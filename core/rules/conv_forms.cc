// Rules that write other operators as a Conv, and a Conv as one of another rank. Runtimes keep what
// lies between two convolutions in a layout of its own only if it is one they know, and leave that
// layout for everything else.

#include <utility>

#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# s x = Conv(x, s) and x + t = Conv(x, 1, t), depthwise and 1x1; s and t along channels of an image
affine-conv: ?z = Mul(?x, ?s) => depthwise_scale(?x, ?s)
  if weight(?s) and activation(?x) and keeps(?x, ?s) and not made_by(?x, Conv) and factor(?s)
    and smooth(?z)
affine-conv: ?z = Add(?x, ?t) => depthwise_shift(?x, ?t)
  if weight(?t) and activation(?x) and keeps(?x, ?t) and not made_by(?x, Conv)
    and not made_by(?x, Mul) and shift_beside(?x, ?t) and smooth(?z)
# Conv(x, w) of one spatial axis = Conv of two of them, the first of size 1
conv-plane: Conv[?c](?x, ?w, ?b...) => in_plane(?c, ?x, ?w, ?b) if weight(?w)
)";

// The 1x1 Conv that multiplies each channel of x by its element of `scale`, or by 1, and adds that
// of `shift`, or nothing. Both are constants that vary along the channels at most. (What is scaled
// and then shifted becomes one Conv by conv-shift.)
ClassId Depthwise(Terms& terms, ClassId x, std::optional<ClassId> scale,
                  std::optional<ClassId> shift) {
  constexpr int kRank = 4;
  const TensorType type = terms.type(x);
  if (!type.has_rank() || type.rank() != kRank || type.dtype != model::DType::kFloat32) {
    return ClassId();
  }
  // A Conv of an empty image fails.
  const std::optional<int64_t> channels = NumberAt(type, 1);
  if (!channels || *channels < 1 || !terms.NeverEmpty(type.dim(2)) ||
      !terms.NeverEmpty(type.dim(3))) {
    return ClassId();
  }
  const Convolution conv{.group = *channels,
                         .kernel = {1, 1},
                         .strides = {1, 1},
                         .dilations = {1, 1},
                         .pads = {0, 0, 0, 0},
                         .out_channels = *channels,
                         .in_channels_per_group = 1};
  const ClassId factors =
      scale ? terms.Vector(*scale, kRank, 1, *channels) : terms.Filled(type.dtype, {*channels}, 1);
  if (shift) shift = terms.Vector(*shift, kRank, 1, *channels);
  return MakeConv(terms, ConvolutionAttributes(conv), x,
                  terms.Reshape(factors, {*channels, 1, 1, 1}), shift);
}

// args: c, x, w, b..
ClassId InPlane(Terms& terms, std::span<const Binding> args) {
  const auto conv = ReadConvolution(terms.word(args[0].op), terms.type(args[2].id));
  if (!conv || conv->spatial() != 1) return ClassId();
  Convolution plane = *conv;
  for (Ints* numbers : {&plane.kernel, &plane.strides, &plane.dilations}) {
    numbers->insert(numbers->begin(), 1);
  }
  plane.pads = {0, conv->pads[0], 0, conv->pads[1]};
  const AttributeMap axis = {{"axes", Ints{2}}};
  Ints shape = {plane.out_channels, plane.in_channels_per_group};
  shape.insert(shape.end(), plane.kernel.begin(), plane.kernel.end());
  const ClassId wide =
      MakeConv(terms, ConvolutionAttributes(plane), terms.Op("Unsqueeze", {args[1].id}, axis),
               terms.Reshape(args[2].id, std::move(shape)), Optional(args[3].list));
  return terms.Op("Squeeze", {wide}, axis);
}

void AddWords(Words& words) {
  words.Term("depthwise_scale", "cc", [](Terms& terms, auto args) {
    return Depthwise(terms, args[0].id, args[1].id, std::nullopt);
  });
  words.Term("depthwise_shift", "cc", [](Terms& terms, auto args) {
    return Depthwise(terms, args[0].id, std::nullopt, args[1].id);
  });
  words.Term("in_plane", "occl", InPlane);
}

}  // namespace

Family ConvFormsFamily() { return {"conv-forms", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
