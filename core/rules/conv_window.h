#pragma once

// Helpers for rules about Conv: they read its window, enlarge it, and give constants the shape of
// its weights.

#include <optional>
#include <span>

#include "core/rules/terms.h"

namespace quotient::rules {

// The window and channels of a Conv with static weights and explicit pads. Vectors have one number
// per spatial axis; `pads` has two, first all begins, then all ends.
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
  int64_t taps() const;      // Elements of the window.
  bool IsPointwise() const;  // Window 1x1, strides 1, no pads.
  bool HasPads() const;
};

// Limits a weight that a rule makes, which may be much larger than those it is made of, to 16 MiB
// in float32.
inline constexpr int64_t kMaxWeightElements = 1 << 22;

// Returns nullopt if the word is not a Conv of this form.
std::optional<Convolution> ReadConvolution(const OpWord& word, const TensorType& weight);

// The canonical attributes of a Conv with this window.
AttributeMap ConvolutionAttributes(const Convolution& conv);

// Builds Conv(x, weight, bias), or Conv(x, weight) if `bias` is nullopt. Returns an invalid class
// if the bias or another operand is an invalid class.
ClassId MakeConv(Terms& terms, const AttributeMap& attributes, ClassId x, ClassId weight,
                 std::optional<ClassId> bias);

// The smallest window to which all of these can be enlarged with zeros without changing their
// outputs. Groups and channels are those of the first. Returns nullopt if strides, dilations or the
// sizes of the outputs differ, or if windows are shifted by a fraction of the dilation.
std::optional<Convolution> CommonWindow(std::span<const Convolution> convs);

// Pads the weight of `from` with zeros to the window of `to`, which CommonWindow found.
ClassId EnlargeWeight(Terms& terms, ClassId weight, const Convolution& from, const Convolution& to);

// Reshapes a vector over the input channels [C] so that it scales the weight of a Conv. Returns an
// invalid class unless the Conv has one group or is depthwise.
ClassId AlongInputs(Terms& terms, ClassId vector, const Convolution& conv);

// What a BatchNormalization multiplies by and adds, as vectors over the channels: `scale` is
// scale / sqrt(variance + epsilon), and `shift` is shift - mean * that. Both are invalid in
// training mode.
struct Affine {
  ClassId scale;
  ClassId shift;
};
Affine BatchNormAffine(Terms& terms, const OpWord& word, ClassId scale, ClassId shift, ClassId mean,
                       ClassId variance);

}  // namespace quotient::rules
