// Rules about Convs with groups. A device may take longer for many narrow groups than for fewer
// wide ones whose filters have zeros, as is known of ResNeXt (Hartmann et al., PACT'24).

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Conv(x, w) = Conv(x, w'), fewer groups: in w' a filter has zeros for what it did not read
conv-groups: Conv[?c](?x, ?w, ?b...) => groups_of_16(?c, ?x, ?w, ?b) if constant(?w)
conv-groups: Conv[?c](?x, ?w, ?b...) => groups_of_32(?c, ?x, ?w, ?b) if constant(?w)
conv-groups: Conv[?c](?x, ?w, ?b...) => groups_of_64(?c, ?x, ?w, ?b) if constant(?w)
)";

// The most groups that become one such that it reads at most `width` channels.
int64_t GroupsToJoin(const Convolution& conv, int64_t width) {
  int64_t joined = 1;
  for (int64_t count = 2; count <= conv.group && count * conv.in_channels_per_group <= width;
       ++count) {
    if (conv.group % count == 0) joined = count;
  }
  return joined;
}

// One where filter o reads channel i of its group when `joined` groups of `inputs` channels are
// one, else zero: [O, inputs * joined, 1, ..].
ClassId MaskOf(Terms& terms, const Convolution& conv, int64_t joined, model::DType dtype) {
  const int64_t inputs = conv.in_channels_per_group;
  const int64_t filters = conv.out_channels / conv.group;
  const int64_t row = inputs * joined;
  Ints dims(conv.rank(), 1);
  dims[0] = conv.out_channels;
  dims[1] = row;
  std::vector<double> values(conv.out_channels * row, 0);
  for (int64_t o = 0; o < conv.out_channels; ++o) {
    const int64_t first = o / filters % joined * inputs;
    std::fill_n(values.begin() + o * row + first, inputs, 1);
  }
  return terms.Constant(dtype, std::move(dims), values);
}

// Depthwise Convs are left alone: devices have kernels for them, and a wider one multiplies more.
ClassId FewerGroups(Terms& terms, std::span<const Binding> args, int64_t width) {
  const ClassId w = args[2].id;
  std::optional<Convolution> conv = ReadConvolution(terms.word(args[0].op), terms.type(w));
  if (!conv || conv->in_channels_per_group < 2 || conv->out_channels % conv->group != 0) {
    return ClassId();
  }
  const int64_t joined = GroupsToJoin(*conv, width);
  if (joined == 1 || conv->out_channels * conv->in_channels_per_group * joined >
                         kMaxWeightElements / conv->taps()) {
    return ClassId();
  }
  const std::vector<ClassId> parts(static_cast<size_t>(joined), terms.FiniteWeight(w));
  const ClassId mask = MaskOf(terms, *conv, joined, terms.type(w).dtype);
  const ClassId weight = terms.Op("Mul", {terms.Concat(parts, 1), mask});
  conv->group /= joined;
  return MakeConv(terms, ConvolutionAttributes(*conv), args[1].id, weight, Optional(args[3].list));
}

void AddWords(Words& words) {
  for (const int64_t width : {16, 32, 64}) {
    words.Term(absl::StrCat("groups_of_", width), "occl",
               [width](Terms& terms, auto args) { return FewerGroups(terms, args, width); });
  }
}

}  // namespace

Family GroupedConvFamily() { return {"grouped-conv", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
