#pragma once

// What the rules about Conv ask of one, and how constants are laid along its weights.

#include <optional>
#include <span>

#include "core/rules/terms.h"

namespace quotient::rules {

// A Conv whose window is known: numbers only, pads explicit. Vectors have one number per spatial
// axis, `pads` two (all begins, then all ends).
struct Convolution {
  int64_t group;
  Ints kernel;
  Ints strides;
  Ints dilations;
  Ints pads;
  int64_t out_channels;
  int64_t in_channels_per_group;

  int spatial() const { return static_cast<int>(kernel.size()); }
  int rank() const { return spatial() + 2; }
  bool IsPointwise() const;  // 1x1, no strides, no pads
  bool HasPads() const;
};

// Nothing if it is not a Conv of that form.
std::optional<Convolution> ReadConvolution(const OpWord& word, const TensorType& weight);

// Canonical attributes of a Conv with that window.
AttributeMap ConvolutionAttributes(const Convolution& conv);

// Conv(x, weight, bias) where the bias may be left out (an invalid id). `missing_bias` is for
// callers whose bias could not be built.
ClassId MakeConv(Terms& terms, const AttributeMap& attributes, ClassId x, ClassId weight,
                 std::optional<ClassId> bias);

// The smallest window that all of these can be enlarged to with zeros, so that each output stays as
// it is; groups and channels are those of the first. Nothing if there is none: strides or dilations
// differ, or the outputs have other sizes, or the windows are shifted by parts of a dilation.
std::optional<Convolution> CommonWindow(std::span<const Convolution> convs);

// The weight of `from`, padded with zeros to the window of `to`, which CommonWindow found.
ClassId EnlargeWeight(Terms& terms, ClassId weight, const Convolution& from, const Convolution& to);

// A vector over input channels [C] shaped to scale the weight of a Conv: groups of 1 or depthwise.
ClassId AlongInputs(Terms& terms, ClassId vector, const Convolution& conv);

// scale / sqrt(variance + epsilon), and shift - mean * that: what a BatchNormalization multiplies
// by and adds, as vectors over the channels.
struct Affine {
  ClassId scale;
  ClassId shift;
};
Affine BatchNormAffine(Terms& terms, const OpWord& word, ClassId scale, ClassId shift, ClassId mean,
                       ClassId variance);

}  // namespace quotient::rules
