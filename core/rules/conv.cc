// Rules about Conv: sums of branches that read one input become one Conv (as in Ding et al.,
// "RepVGG", 2021), Pads become part of the Conv, a Conv followed by a pointwise Conv becomes one
// Conv, and siblings are merged (shared_input.h).

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/rules/concat_split.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/shared_input.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Conv(x, a) + Conv(x, b) = Conv(x, a + b), the smaller kernel enlarged with zeros; any groups
conv-sum: Add(Conv[?c](?x, ?a, ?p...), Conv[?d](?x, ?b, ?q...))
  => conv_sum(?c, ?d, ?x, ?a, ?p, ?b, ?q)
  if weight(?a) and weight(?b) and before(?a, ?b)
conv-sum: Add(Conv[?d](?x, ?b, ?q...), Conv[?c](?x, ?a, ?p...))
  => conv_sum(?c, ?d, ?x, ?a, ?p, ?b, ?q)
  if weight(?a) and weight(?b) and before(?a, ?b)
# Conv(x, w) + x = Conv(x, w + 1), 1 the identity's kernel
conv-plus-input: Add(Conv[?c](?x, ?w, ?b...), ?x) => conv_plus_scaled(?c, ?x, ?w, ?b) if weight(?w)
conv-plus-input: Add(?x, Conv[?c](?x, ?w, ?b...)) => conv_plus_scaled(?c, ?x, ?w, ?b) if weight(?w)
# Conv(x, w) + BN(x) = Conv(x, w + s) + t
conv-plus-batchnorm: Add(Conv[?c](?x, ?w, ?b...), BatchNormalization[?n](?x, ?s, ?t, ?m, ?v))
  => conv_plus_batchnorm(?c, ?n, ?x, ?w, ?b, ?s, ?t, ?m, ?v)
  if weight(?w) and weight(?s) and weight(?t) and weight(?m) and weight(?v)
    and normalizable(?n, ?s, ?m, ?v)
conv-plus-batchnorm: Add(BatchNormalization[?n](?x, ?s, ?t, ?m, ?v), Conv[?c](?x, ?w, ?b...))
  => conv_plus_batchnorm(?c, ?n, ?x, ?w, ?b, ?s, ?t, ?m, ?v)
  if weight(?w) and weight(?s) and weight(?t) and weight(?m) and weight(?v)
    and normalizable(?n, ?s, ?m, ?v)
# Conv(x, w) + Conv(y, w) = Conv(x + y, w), without biases
conv-sum-inputs: Add(Conv[?c](?x, ?w), Conv[?c](?y, ?w)) => Conv[?c](Add(?x, ?y), ?w)
  if same(?x, ?y) and distinct(?x, ?y) and reaches_far(?x)
# Conv(x, a) + Conv(y, b) = Conv([x y], [a b]) along channels, the smaller kernel enlarged; one group
conv-concat: Add(Conv[?c](?x, ?a, ?p...), Conv[?d](?y, ?b, ?q...))
  => conv_concat(?c, ?d, ?x, ?a, ?p, ?y, ?b, ?q)
  if weight(?a) and weight(?b) and distinct(?x, ?y)
# Conv(-x, w) = Conv(x, -w), and -Conv(x, w) = Conv(x, -w)
conv-neg: Conv[?c](Neg(?x), ?w, ?b...) => Conv[?c](?x, Neg(?w), ?b...)
  if weight(?w) and activation(?x) and float(?x)
conv-neg: Neg(Conv[?c](?x, ?w, ?b...)) => Conv[?c](?x, Neg(?w), Neg(?b)...)
  if weight(?w) and activation(?x) and float(?x)
# Conv(Pad(x), w) = Conv(x, w) with these pads; constant zeros on spatial axes
conv-of-pad: Conv[?c](Pad[?p](?x), ?w, ?b...) => conv_of_pad(?c, ?p, ?x, ?w, ?b)
# Conv(Conv(x, a), b) = Conv(x, b a), b 1x1, if b a is not much larger than a and b together
conv-chain: Conv[?d](Conv[?c](?x, ?a, ?p...), ?b, ?q...) => conv_chain(?c, ?d, ?x, ?a, ?p, ?b, ?q)
  if weight(?a) and weight(?b)
# Conv(Conv(x, a), b) = Conv(x, b a), a depthwise, b 1x1: the one Conv merges and adds up with others
conv-separable: Conv[?d](Conv[?c](?x, ?a, ?p...), ?b, ?q...)
  => conv_separable(?c, ?d, ?x, ?a, ?p, ?b, ?q)
  if weight(?a) and weight(?b)
)";

bool IsConstantOrAbsent(Terms& terms, std::optional<ClassId> bias) {
  return !bias || terms.data(*bias).weight_only;
}

std::optional<ClassId> AddBiases(Terms& terms, std::optional<ClassId> a, std::optional<ClassId> b) {
  if (!a) return b;
  return b ? terms.Summed(*a, *b) : *a;
}

// Two Convs whose outputs have the same channels, with both weights enlarged to a common window.
struct Pair {
  Convolution first;
  Convolution second;
  Convolution common;
  ClassId a;
  ClassId b;
  std::optional<ClassId> bias;  // Of both together.
};
std::optional<Pair> ReadPair(Terms& terms, OpId c, OpId d, ClassId a, ClassId b,
                             std::span<const ClassId> p, std::span<const ClassId> q) {
  const auto first = ReadConvolution(terms.word(c), terms.type(a));
  const auto second = ReadConvolution(terms.word(d), terms.type(b));
  if (!first || !second || first->spatial() != second->spatial() || first->group != second->group ||
      first->out_channels != second->out_channels || !IsConstantOrAbsent(terms, Optional(p)) ||
      !IsConstantOrAbsent(terms, Optional(q))) {
    return std::nullopt;
  }
  const Convolution both[] = {*first, *second};
  const std::optional<Convolution> common = CommonWindow(both);
  if (!common) return std::nullopt;
  return Pair{*first,
              *second,
              *common,
              EnlargeWeight(terms, a, *first, *common),
              EnlargeWeight(terms, b, *second, *common),
              AddBiases(terms, Optional(p), Optional(q))};
}

// args: c, d, x, a, p.., b, q..
ClassId ConvSum(Terms& terms, std::span<const Binding> args) {
  const auto pair =
      ReadPair(terms, args[0].op, args[1].op, args[3].id, args[5].id, args[4].list, args[6].list);
  if (!pair || pair->first.in_channels_per_group != pair->second.in_channels_per_group) {
    return ClassId();
  }
  return MakeConv(terms, ConvolutionAttributes(pair->common), args[2].id,
                  terms.Summed(pair->a, pair->b), pair->bias);
}

// args: c, d, x, a, p.., y, b, q..
ClassId ConvConcat(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, y = args[5].id;
  const auto pair =
      ReadPair(terms, args[0].op, args[1].op, args[3].id, args[6].id, args[4].list, args[7].list);
  if (!pair || pair->common.group != 1) return ClassId();
  const ClassId inputs[] = {x, y}, weights[] = {pair->a, pair->b};
  if (!CanConcat(terms, inputs, 1)) return ClassId();
  return MakeConv(terms, ConvolutionAttributes(pair->common), terms.Concat(inputs, 1),
                  terms.Concat(weights, 1), pair->bias);
}

// The identity as a 1x1 Conv. Its weight [C, C / group, 1, ..] is one where output channel o reads
// input channel o, and zero elsewhere.
struct IdentityConv {
  Convolution conv;
  ClassId weight;
};
std::optional<IdentityConv> MakeIdentity(Terms& terms, const Convolution& like,
                                         model::DType dtype) {
  constexpr int64_t kMaxElements = 1 << 20;
  const int64_t inputs = like.in_channels_per_group;
  if (like.out_channels != inputs * like.group || like.out_channels * inputs > kMaxElements) {
    return std::nullopt;
  }
  Convolution conv = like;
  std::fill(conv.kernel.begin(), conv.kernel.end(), 1);
  std::fill(conv.pads.begin(), conv.pads.end(), 0);
  Ints dims(conv.rank(), 1);
  dims[0] = conv.out_channels;
  dims[1] = inputs;
  std::vector<double> values(conv.out_channels * inputs, 0);
  for (int64_t o = 0; o < conv.out_channels; ++o) values[o * inputs + o % inputs] = 1;
  return IdentityConv{conv, terms.Constant(dtype, std::move(dims), values)};
}

// Builds Conv(x, w, b) + s x + t, where s and t are vectors over the channels. Without `affine`, s
// is one and t zero.
ClassId ConvPlusScaled(Terms& terms, OpId op, ClassId x, ClassId w, std::optional<ClassId> bias,
                       std::optional<Affine> affine) {
  const auto conv = ReadConvolution(terms.word(op), terms.type(w));
  if (!conv || !IsConstantOrAbsent(terms, bias) ||
      std::any_of(conv->strides.begin(), conv->strides.end(), [](int64_t s) { return s != 1; }) ||
      NumberAt(terms.type(x), 1) != conv->out_channels) {
    return ClassId();
  }
  const model::DType dtype = terms.type(w).dtype;
  const auto identity = MakeIdentity(terms, *conv, dtype);
  if (!identity) return ClassId();
  const Convolution both[] = {*conv, identity->conv};
  const std::optional<Convolution> common = CommonWindow(both);
  if (!common) return ClassId();
  ClassId branch = identity->weight;
  if (affine) {
    if (!affine->scale.valid() || !affine->shift.valid()) return ClassId();
    Ints shape(conv->rank(), 1);
    shape[0] = conv->out_channels;
    branch = terms.Op("Mul", {branch, terms.Reshape(affine->scale, std::move(shape))});
    bias = AddBiases(terms, bias, affine->shift);
  }
  const ClassId weight = terms.Summed(EnlargeWeight(terms, w, *conv, *common),
                                      EnlargeWeight(terms, branch, identity->conv, *common));
  return MakeConv(terms, ConvolutionAttributes(*common), x, weight, bias);
}

// args: c, p, x, w, b..
ClassId ConvOfPad(Terms& terms, std::span<const Binding> args) {
  const OpWord& pad = terms.word(args[1].op);
  auto conv = ReadConvolution(terms.word(args[0].op), terms.type(args[3].id));
  const Ints* pads = pad.attributes.FindInts("pads");
  if (!conv || pads == nullptr || pads->size() != static_cast<size_t>(2 * conv->rank()) ||
      pad.attributes.Has("axes") || pad.attributes.GetString("mode", "constant") != "constant" ||
      pad.attributes.GetFloat("constant_value", 0.0) != 0.0) {
    return ClassId();
  }
  if (std::any_of(pads->begin(), pads->end(), [](int64_t value) { return value < 0; })) {
    return ClassId();
  }
  const int rank = conv->rank();
  const int spatial = conv->spatial();
  if ((*pads)[0] != 0 || (*pads)[1] != 0 || (*pads)[rank] != 0 || (*pads)[rank + 1] != 0) {
    return ClassId();
  }
  for (int axis = 0; axis < spatial; ++axis) {
    conv->pads[axis] += (*pads)[2 + axis];
    conv->pads[spatial + axis] += (*pads)[rank + 2 + axis];
  }
  return MakeConv(terms, ConvolutionAttributes(*conv), args[2].id, args[3].id,
                  Optional(args[4].list));
}

// Conv(Conv(x, a, p), b, q) with b 1x1, so that each output is a weighted sum of the channels in
// the middle.
struct Chain {
  ClassId x;
  ClassId a;
  ClassId b;
  std::optional<ClassId> p;
  std::optional<ClassId> q;
  Convolution first;
  Convolution second;

  int64_t middle() const { return first.out_channels; }
  int64_t outputs() const { return second.out_channels; }
};

// args: c, d, x, a, p.., b, q..
std::optional<Chain> ReadChain(Terms& terms, std::span<const Binding> args) {
  const ClassId a = args[3].id;
  const ClassId b = args[5].id;
  const std::optional<ClassId> p = Optional(args[4].list);
  const std::optional<ClassId> q = Optional(args[6].list);
  const auto first = ReadConvolution(terms.word(args[0].op), terms.type(a));
  const auto second = ReadConvolution(terms.word(args[1].op), terms.type(b));
  if (!first || !second || !second->IsPointwise() || second->group != 1 ||
      first->spatial() != second->spatial() || !IsConstantOrAbsent(terms, p) ||
      !IsConstantOrAbsent(terms, q)) {
    return std::nullopt;
  }
  return Chain{args[2].id, a, b, p, q, *first, *second};
}

// Builds Conv(x, weight, b p + q) with the window of the first Conv.
ClassId FoldChain(Terms& terms, const Chain& chain, ClassId weight) {
  std::optional<ClassId> bias = chain.q;
  if (chain.p) {
    const ClassId rows = terms.Reshape(chain.b, {chain.outputs(), chain.middle()});
    bias = AddBiases(terms, terms.Op("MatMul", {rows, *chain.p}), chain.q);
  }
  Convolution folded = chain.first;
  folded.group = 1;
  return MakeConv(terms, ConvolutionAttributes(folded), chain.x, terms.FiniteWeight(weight), bias);
}

// A kernel that computes more may take less than two that wait for each other.
constexpr int64_t kMostGrowth = 4;

// Multiplies the weights as matrices, [outputs, middle] by [middle, inputs * window]. Returns an
// invalid class if the product is more than kMostGrowth times as large as both weights together, or
// very large.
ClassId ConvChain(Terms& terms, std::span<const Binding> args) {
  const std::optional<Chain> chain = ReadChain(terms, args);
  if (!chain || chain->first.group != 1) return ClassId();
  const int64_t columns = chain->first.in_channels_per_group * chain->first.taps();
  const int64_t middle = chain->middle();
  const int64_t outputs = chain->outputs();
  if (columns * outputs > kMostGrowth * middle * (columns + outputs) ||
      columns * outputs > kMaxWeightElements) {
    return ClassId();
  }
  const ClassId product = terms.Op("MatMul", {terms.Reshape(chain->b, {outputs, middle}),
                                              terms.Reshape(chain->a, {middle, columns})});
  Ints shape = {outputs, chain->first.in_channels_per_group};
  shape.insert(shape.end(), chain->first.kernel.begin(), chain->first.kernel.end());
  return FoldChain(terms, *chain, terms.Reshape(product, std::move(shape)));
}

// Multiplies the weights element by element, [outputs, C, 1..] by [1, C, window..]: each input
// channel has its own channel in the middle, for which each output has a weight.
ClassId ConvSeparable(Terms& terms, std::span<const Binding> args) {
  const std::optional<Chain> chain = ReadChain(terms, args);
  if (!chain || chain->first.group == 1 || chain->first.in_channels_per_group != 1 ||
      chain->first.group != chain->middle() ||
      chain->outputs() * chain->middle() > kMaxWeightElements / chain->first.taps()) {
    return ClassId();
  }
  Ints shape = {1, chain->middle()};
  shape.insert(shape.end(), chain->first.kernel.begin(), chain->first.kernel.end());
  return FoldChain(terms, *chain,
                   terms.Op("Mul", {chain->b, terms.Reshape(chain->a, std::move(shape))}));
}

void AddWords(Words& words) {
  words.Term("conv_sum", "oocclcl", ConvSum);
  words.Term("conv_concat", "oocclccl", ConvConcat);
  words.Term("conv_plus_scaled", "occl", [](Terms& terms, auto args) {
    return ConvPlusScaled(terms, args[0].op, args[1].id, args[2].id, Optional(args[3].list),
                          std::nullopt);
  });
  words.Term("conv_plus_batchnorm", "oocclcccc", [](Terms& terms, auto args) {
    const Affine affine = BatchNormAffine(terms, terms.word(args[1].op), args[5].id, args[6].id,
                                          args[7].id, args[8].id);
    return ConvPlusScaled(terms, args[0].op, args[2].id, args[3].id, Optional(args[4].list),
                          affine);
  });
  words.Term("conv_of_pad", "ooccl", ConvOfPad);
  words.Term("conv_chain", "oocclcl", ConvChain);
  words.Term("conv_separable", "oocclcl", ConvSeparable);
}

void AddRules(TensorDomain* domain, RuleList& rules) { rules.push_back(NewConvMerge(domain)); }

}  // namespace

Family ConvFamily() { return {"conv", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
