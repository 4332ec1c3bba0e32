// Rules that compute a few channels more than are asked for. ONNX Runtime keeps images in blocks of
// channels, but its Convs leave that layout where the number of channels is no multiple of four, as
// in ShuffleNet and in pruned networks. A Conv gets filters of zeros, so that it is the first
// channels of a wider one, and this Slice moves behind the operators that read it, until a Conv
// takes it in by zeros in its filters.

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Conv(x, w) = the first channels of Conv(x, Concat(w, 0)), whose channels fill blocks
pad-filters: Conv[?c](?x, ?w, ?b...) => filters_for_8(?c, ?x, ?w, ?b)
  if weight(?w) and not made_by(?w, Slice)
pad-filters: Conv[?c](?x, ?w, ?b...) => filters_for_16(?c, ?x, ?w, ?b)
  if weight(?w) and not made_by(?w, Slice)
# Conv(Slice(x), w) = Conv(x, w'), w' has zeros for what the Slice leaves out; it may be a Slice still
conv-of-channels: Conv[?c](Slice[?s](?x), ?w, ?b...) => conv_of_channels(?c, ?s, ?x, ?w, ?b)
  if weight(?w)
# Conv(Slice(x), w) = Slice(Conv(x, Concat(w, 0))), depthwise
depthwise-of-channels: Conv[?c](Slice[?s](?x), ?w, ?b...) => depthwise_of_channels(?c, ?s, ?x, ?w, ?b)
  if weight(?w) and first_channels(?s, ?x)
# f(Slice(x)) = Slice(f(x)), f an activation
activate-channels: Relu(Slice[?s](?x)) => Slice[?s](Relu(?x)) if first_channels(?s, ?x)
activate-channels: Clip[?f](Slice[?s](?x)) => Slice[?s](Clip[?f](?x)) if first_channels(?s, ?x)
activate-channels: LeakyRelu[?f](Slice[?s](?x)) => Slice[?s](LeakyRelu[?f](?x))
  if first_channels(?s, ?x)
activate-channels: Sigmoid(Slice[?s](?x)) => Slice[?s](Sigmoid(?x)) if first_channels(?s, ?x)
activate-channels: HardSigmoid[?f](Slice[?s](?x)) => Slice[?s](HardSigmoid[?f](?x))
  if first_channels(?s, ?x)
activate-channels: HardSwish(Slice[?s](?x)) => Slice[?s](HardSwish(?x)) if first_channels(?s, ?x)
activate-channels: Tanh(Slice[?s](?x)) => Slice[?s](Tanh(?x)) if first_channels(?s, ?x)
# Slice(x) + Slice(y) = Slice(x + y)
add-channels: Add(Slice[?s](?x), Slice[?s](?y)) => Slice[?s](Add(?x, ?y))
  if first_channels(?s, ?x) and first_channels(?s, ?y) and same_rank(?x, ?y)
# Slice(x) Slice(y) = Slice(x y)
mul-channels: Mul(Slice[?s](?x), Slice[?s](?y)) => Slice[?s](Mul(?x, ?y))
  if first_channels(?s, ?x) and first_channels(?s, ?y) and same_rank(?x, ?y)
# pool(Slice(x)) = Slice(pool(x))
pool-channels: ?y = MaxPool[?m](Slice[?s](?x)) => Slice[?s](MaxPool[?m](?x))
  if first_channels(?s, ?x) and has_pixels(?y)
pool-channels: ?y = AveragePool[?m](Slice[?s](?x)) => Slice[?s](AveragePool[?m](?x))
  if first_channels(?s, ?x) and has_pixels(?y)
pool-channels: GlobalAveragePool(Slice[?s](?x)) => Slice[?s](GlobalAveragePool(?x))
  if first_channels(?s, ?x) and has_pixels(?x)
)";

// Convs want a multiple of this many channels.
constexpr int64_t kStep = 4;
// Pools and Concats want whole blocks, of so many channels as the processor's vectors have
// elements. Convs compute whole blocks in any case.
constexpr int64_t kBlocks[] = {8, 16};
constexpr int64_t kLargestBlock = 16;
// A Conv that reads fewer channels than a block has takes any number.
constexpr int64_t kLeastChannels = 8;

int64_t RoundedUp(int64_t channels, int64_t step) { return (channels + step - 1) / step * step; }

// The weight with `before` and `after` zeros along an axis around it. Invalid if it would be large.
ClassId WithZeros(Terms& terms, ClassId weight, int axis, int64_t before, int64_t after) {
  const TensorType type = terms.type(weight);
  if (!type.is_static()) return ClassId();
  std::vector<ClassId> parts;
  const auto add_zeros = [&](int64_t count) {
    if (count == 0) return;
    Ints dims = type.dims();
    dims[axis] = count;
    parts.push_back(terms.Filled(type.dtype, std::move(dims), 0));
  };
  add_zeros(before);
  parts.push_back(weight);
  add_zeros(after);
  return parts.size() == 1 ? weight : terms.Concat(parts, axis);
}

std::optional<ClassId> LongerBias(Terms& terms, std::span<const ClassId> bias, int64_t zeros) {
  if (bias.empty()) return std::nullopt;
  return WithZeros(terms, bias[0], 0, 0, zeros);
}

// The Conv, if it has filters: ONNX Runtime runs one without them, but not in blocks.
std::optional<Convolution> ReadFilters(const OpWord& word, const TensorType& weight) {
  auto conv = ReadConvolution(word, weight);
  if (conv && conv->out_channels == 0) return std::nullopt;
  return conv;
}

// The range of channels that a Slice takes, if it takes some along that axis alone.
std::optional<domain::SliceRange> TakenChannels(const OpWord& slice, const TensorType& x) {
  const auto range = domain::ReadSlice(slice.attributes, x);
  if (!range || range->axis != 1) return std::nullopt;
  return range;
}

// Whether the Slice takes all channels but those that fill the last block. Args: s, x.
bool TakesFirstChannels(const View& view, std::span<const Binding> args) {
  const TensorType& x = view.type(args[1].id);
  const auto taken = TakenChannels(view.word(args[0].op), x);
  return taken && taken->begin == 0 && taken->end % kStep != 0 &&
         std::ranges::any_of(kBlocks, [&](int64_t block) {
           return NumberAt(x, 1) == RoundedUp(taken->end, block);
         });
}

// Args: c, x, w, b..
ClassId PaddedFilters(Terms& terms, std::span<const Binding> args, int64_t block) {
  auto conv = ReadConvolution(terms.word(args[0].op), terms.type(args[2].id));
  if (!conv || conv->group != 1 || conv->out_channels < kLeastChannels ||
      conv->out_channels % kStep == 0) {
    return ClassId();
  }
  const int64_t asked = conv->out_channels;
  conv->out_channels = RoundedUp(asked, block);
  const int64_t added = conv->out_channels - asked;
  const ClassId wide =
      MakeConv(terms, ConvolutionAttributes(*conv), args[1].id,
               WithZeros(terms, args[2].id, 0, 0, added), LongerBias(terms, args[3].list, added));
  return terms.Slice(wide, {1, 0, asked});
}

// All channels if they are hardly more, else the smallest range around this one that begins and
// ends at multiples of the step, or where they end.
domain::SliceRange Widened(const domain::SliceRange& range, int64_t channels) {
  if (channels - range.size() < kLargestBlock) return {range.axis, 0, channels};
  return {range.axis, range.begin / kStep * kStep, std::min(RoundedUp(range.end, kStep), channels)};
}

// Args: c, s, x, w, b..
ClassId ConvOfChannels(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, w = args[3].id;
  auto conv = ReadFilters(terms.word(args[0].op), terms.type(w));
  const auto taken = TakenChannels(terms.word(args[1].op), terms.type(x));
  if (!conv || conv->group != 1 || !taken || taken->size() < kLeastChannels ||
      taken->size() % kStep == 0) {
    return ClassId();
  }
  const int64_t channels = *NumberAt(terms.type(x), 1);
  const domain::SliceRange wider = Widened(*taken, channels);
  if (wider.size() % kStep != 0) return ClassId();
  conv->in_channels_per_group = wider.size();
  return MakeConv(terms, ConvolutionAttributes(*conv),
                  wider.size() == channels ? x : terms.Slice(x, wider),
                  WithZeros(terms, w, 1, taken->begin - wider.begin, wider.end - taken->end),
                  Optional(args[4].list));
}

// Args: c, s, x, w, b..
ClassId DepthwiseOfChannels(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, w = args[3].id;
  auto conv = ReadFilters(terms.word(args[0].op), terms.type(w));
  if (!conv || conv->in_channels_per_group != 1 || conv->group < 2 ||
      conv->out_channels % conv->group != 0) {
    return ClassId();
  }
  const int64_t asked = conv->out_channels, filters = asked / conv->group;
  conv->group = *NumberAt(terms.type(x), 1);
  conv->out_channels = conv->group * filters;
  const int64_t added = conv->out_channels - asked;
  const ClassId wide =
      MakeConv(terms, ConvolutionAttributes(*conv), x, WithZeros(terms, w, 0, 0, added),
               LongerBias(terms, args[4].list, added));
  return terms.Slice(wide, {1, 0, asked});
}

void AddWords(Words& words) {
  words.Guard("first_channels", "oc", Purpose::kCost, TakesFirstChannels);
  for (const int64_t block : kBlocks) {
    words.Term(absl::StrCat("filters_for_", block), "occl",
               [block](Terms& terms, auto args) { return PaddedFilters(terms, args, block); });
  }
  words.Term("conv_of_channels", "ooccl", ConvOfChannels);
  words.Term("depthwise_of_channels", "ooccl", DepthwiseOfChannels);
}

}  // namespace

Family ChannelPaddingFamily() { return {"channel-padding", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
