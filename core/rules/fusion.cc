// Rules that merge scales and shifts along channels into the weight and bias of the contraction
// before or behind them. A BatchNormalization is a scale and a shift.

#include "absl/strings/str_cat.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/magnitudes.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# BN(Conv(x, w) + b) = Conv(x, s w) + (s b + t)
conv-batchnorm: BatchNormalization[?n](Conv[?c](?x, ?w, ?b...), ?s, ?t, ?m, ?v)
  => conv_batchnorm(?n, ?c, ?x, ?w, ?b, ?s, ?t, ?m, ?v)
  if weight(?w) and weight(?s) and weight(?t) and weight(?m) and weight(?v)
    and normalizable(?n, ?s, ?m, ?v)
# BN(ConvTranspose(x, w) + b) = ConvTranspose(x, s w) + (s b + t)
convtranspose-batchnorm: BatchNormalization[?n](ConvTranspose[?c](?x, ?w, ?b...), ?s, ?t, ?m, ?v)
  => convtranspose_batchnorm(?n, ?c, ?x, ?w, ?b, ?s, ?t, ?m, ?v)
  if weight(?w) and weight(?s) and weight(?t) and weight(?m) and weight(?v)
    and normalizable(?n, ?s, ?m, ?v)
# BN(Gemm(x, w, b)) = Gemm(x, s w, s b + t)
gemm-batchnorm: BatchNormalization[?n](Gemm[?c](?x, ?w, ?b...), ?s, ?t, ?m, ?v)
  => gemm_batchnorm(?n, ?c, ?x, ?w, ?b, ?s, ?t, ?m, ?v)
  if weight(?w) and weight(?s) and weight(?t) and weight(?m) and weight(?v)
    and normalizable(?n, ?s, ?m, ?v)
# BN(x) = s x + t
batchnorm-affine: BatchNormalization[?n](?x, ?s, ?t, ?m, ?v)
  => batchnorm_affine(?n, ?x, ?s, ?t, ?m, ?v)
  if weight(?s) and weight(?t) and weight(?m) and weight(?v) and not made_by(?x, Conv)
    and not made_by(?x, ConvTranspose) and not made_by(?x, Gemm)
    and normalizable(?n, ?s, ?m, ?v)

# Conv(x, w) s = Conv(x, s w), s along the channels
conv-scale: ?z = Mul(Conv[?c](?x, ?w, ?b...), ?s) => conv_scale(?c, ?x, ?w, ?b, ?s)
  if weight(?w) and weight(?s) and factor(?s) and smooth(?z)
# Conv(x, w) + t = Conv(x, w) with bias + t, t along the channels
conv-shift: ?z = Add(Conv[?c](?x, ?w, ?b...), ?t) => conv_shift(?c, ?x, ?w, ?b, ?t)
  if weight(?w) and weight(?t) and shift_behind(?c, ?x, ?w, ?t) and smooth(?z)
# ConvTranspose(x, w) s = ConvTranspose(x, s w), s along the channels
convtranspose-scale: ?z = Mul(ConvTranspose[?c](?x, ?w, ?b...), ?s)
  => convtranspose_scale(?c, ?x, ?w, ?b, ?s)
  if weight(?w) and weight(?s) and factor(?s) and smooth(?z)
# ConvTranspose(x, w) + t = ConvTranspose(x, w) with bias + t, t along the channels
convtranspose-shift: ?z = Add(ConvTranspose[?c](?x, ?w, ?b...), ?t)
  => convtranspose_shift(?c, ?x, ?w, ?b, ?t)
  if weight(?w) and weight(?t) and shift_behind(?c, ?x, ?w, ?t) and smooth(?z)
# Gemm(x, w) s = Gemm(x, s w), s along the columns
gemm-scale: ?z = Mul(Gemm[?c](?x, ?w, ?b...), ?s) => gemm_scale(?c, ?x, ?w, ?b, ?s)
  if weight(?w) and weight(?s) and factor(?s) and smooth(?z)
# Gemm(x, w) + t = Gemm(x, w) with bias + t, t along the columns
gemm-shift: ?z = Add(Gemm[?c](?x, ?w, ?b...), ?t) => gemm_shift(?c, ?x, ?w, ?b, ?t)
  if weight(?w) and weight(?t) and shift_behind(?c, ?x, ?w, ?t) and smooth(?z)

# Conv(s x, w) = Conv(x, s w), s along the input channels
conv-scaled-input: ?z = Conv[?c](Mul(?x, ?s), ?w, ?b...) => conv_scaled_input(?c, ?x, ?s, ?w, ?b)
  if weight(?w) and weight(?s) and activation(?x) and keeps(?x, ?s) and factor(?s) and smooth(?z)
# ConvTranspose(s x, w) = ConvTranspose(x, s w), s along the input channels
convtranspose-scaled-input: ?z = ConvTranspose[?c](Mul(?x, ?s), ?w, ?b...)
  => convtranspose_scaled_input(?c, ?x, ?s, ?w, ?b)
  if weight(?w) and weight(?s) and activation(?x) and keeps(?x, ?s) and factor(?s) and smooth(?z)
# Conv(x + t, w) = Conv(x, w) + sum of t w, without pads
conv-shifted-input: ?z = Conv[?c](Add(?x, ?t), ?w, ?b...) => conv_shifted_input(?c, ?x, ?t, ?w, ?b)
  if weight(?w) and weight(?t) and activation(?x) and keeps(?x, ?t)
    and shift_beside(?x, ?t) and smooth(?z)

# LN(x; s, t) c = LN(x; s c, t c)
layernorm-scale: ?z = Mul(LayerNormalization[?n](?x, ?s, ?t...), ?c)
  => layernorm_scale(?n, ?x, ?s, ?t, ?c)
  if weight(?s) and weight(?c) and factor(?c) and smooth(?z)
# LN(x; s, t) + c = LN(x; s, t + c)
layernorm-shift: ?z = Add(LayerNormalization[?n](?x, ?s, ?t...), ?c)
  => layernorm_shift(?n, ?x, ?s, ?t, ?c)
  if weight(?s) and weight(?c) and shift(?c) and smooth(?z)
)";

// A contraction with an optional bias, of any operator, and the position of its output channels.
struct Contraction {
  const OpWord* word;
  ClassId x, weight;
  std::optional<ClassId> bias;
  int rank = 0;          // Rank of the output.
  int channel_axis = 0;  // Axis of the output's channels.
  int64_t channels = 0;
};

// The axis of the weight along which the output channels of a Conv, ConvTranspose or Gemm are.
int OutputAxis(const OpWord& word) {
  const bool rows = word.name == "Gemm" && word.attributes.GetInt("transB", 0) != 0;
  return word.name == "Conv" || rows ? 0 : 1;
}

// The channels of Conv, ConvTranspose and Gemm are on axis 1, which is the last one of Gemm.
std::optional<Contraction> ReadContraction(Terms& terms, OpId op, ClassId x, ClassId weight,
                                           std::span<const ClassId> bias) {
  Contraction result{&terms.word(op), x, weight, Optional(bias)};
  const TensorType& type = terms.type(weight);
  if (!type.is_static() || type.rank() < 2) return std::nullopt;
  const std::vector<int64_t> dims = type.dims();
  const AttributeMap& attributes = result.word->attributes;
  result.rank = type.rank();
  result.channel_axis = 1;
  result.channels = dims[OutputAxis(*result.word)];
  const bool has_groups = attributes.GetInt("group", 1) != 1;
  if (has_groups && result.word->name == "ConvTranspose") return std::nullopt;
  return result;
}

// Multiplies the weight by a vector over the output channels.
ClassId ScaleWeight(Terms& terms, const Contraction& c, ClassId vector) {
  Ints shape(c.rank, 1);
  shape[OutputAxis(*c.word)] = c.channels;
  if (!vector.valid()) return vector;
  return terms.Op("Mul", {c.weight, terms.Reshape(vector, std::move(shape))});
}

// Whether the bias is a weight or there is none.
bool HasConstantBias(Terms& terms, const Contraction& c) {
  return !c.bias || terms.data(*c.bias).weight_only;
}

ClassId Make(Terms& terms, const Contraction& c, ClassId weight, std::optional<ClassId> bias) {
  weight = terms.FiniteWeight(weight);
  if (bias.has_value()) {
    return terms.Op(c.word->name, {c.x, weight, terms.FiniteWeight(*bias)}, c.word->attributes);
  }
  return terms.Op(c.word->name, {c.x, weight}, c.word->attributes);
}

// Whether a summand can become part of the bias. The factor beta of a Gemm would scale it.
bool TakesSummand(const Contraction& c) {
  return c.word->name != "Gemm" || c.word->attributes.GetFloat("beta", 1.0) == 1.0;
}

ClassId ScaleContraction(Terms& terms, const std::optional<Contraction>& c, ClassId factor) {
  if (!c || !HasConstantBias(terms, *c)) return ClassId();
  const ClassId vector = terms.Vector(factor, c->rank, c->channel_axis, c->channels);
  std::optional<ClassId> bias = c->bias;
  if (bias.has_value()) bias = terms.Op("Mul", {*bias, vector});
  return Make(terms, *c, ScaleWeight(terms, *c, vector), bias);
}

ClassId ShiftContraction(Terms& terms, const std::optional<Contraction>& c, ClassId summand) {
  if (!c || !HasConstantBias(terms, *c) || !TakesSummand(*c)) return ClassId();
  const ClassId vector = terms.Vector(summand, c->rank, c->channel_axis, c->channels);
  return Make(terms, *c, c->weight, c->bias ? terms.Summed(*c->bias, vector) : vector);
}

ClassId BatchNormContraction(Terms& terms, const std::optional<Contraction>& c,
                             const Affine& affine) {
  if (!c || !HasConstantBias(terms, *c) || !TakesSummand(*c) || !affine.scale.valid()) {
    return ClassId();
  }
  // Summed() is not used, because bias and mean are meant to cancel nearly.
  ClassId bias = affine.shift;
  if (c->bias) bias = terms.Op("Add", {terms.Op("Mul", {*c->bias, affine.scale}), affine.shift});
  return Make(terms, *c, ScaleWeight(terms, *c, affine.scale), bias);
}

// Reshapes [C] to [C, 1, ..., 1], for a tensor of this rank with channels on axis 1.
ClassId AlongChannels(Terms& terms, ClassId vector, int rank) {
  if (!vector.valid()) return vector;
  Ints shape(rank - 1, 1);
  shape[0] = -1;
  return terms.Reshape(vector, std::move(shape));
}

ClassId BatchNormOf(Terms& terms, const OpWord& word, ClassId x, std::span<const Binding> vectors) {
  const TensorType& type = terms.type(x);
  if (!type.has_rank() || type.rank() < 2) return ClassId();
  const int rank = type.rank();
  const Affine affine =
      BatchNormAffine(terms, word, vectors[0].id, vectors[1].id, vectors[2].id, vectors[3].id);
  const ClassId scaled = terms.Op("Mul", {x, AlongChannels(terms, affine.scale, rank)});
  return terms.Op("Add", {scaled, AlongChannels(terms, affine.shift, rank)});
}

// --- Input side ---

ClassId ConvScaledInput(Terms& terms, std::span<const Binding> args) {
  const OpWord& word = terms.word(args[0].op);
  const auto conv = ReadConvolution(word, terms.type(args[3].id));
  if (!conv) return ClassId();
  const int64_t channels = conv->in_channels_per_group * conv->group;
  const ClassId vector = terms.Vector(args[2].id, conv->rank(), 1, channels);
  const ClassId weight = terms.Op("Mul", {args[3].id, AlongInputs(terms, vector, *conv)});
  return MakeConv(terms, word.attributes, args[1].id, terms.FiniteWeight(weight),
                  Optional(args[4].list));
}

// The input channels of a ConvTranspose are the first axis of its weight, whatever its groups.
ClassId ConvTransposeScaledInput(Terms& terms, std::span<const Binding> args) {
  const ClassId weight = args[3].id;
  const TensorType& type = terms.type(weight);
  if (!type.is_static() || type.rank() < 3) return ClassId();
  const int64_t channels = type.dims()[0];
  const ClassId vector = terms.Vector(args[2].id, type.rank(), 1, channels);
  if (!vector.valid()) return ClassId();
  Ints shape(type.rank(), 1);
  shape[0] = channels;
  const ClassId scaled = terms.Op("Mul", {weight, terms.Reshape(vector, std::move(shape))});
  std::vector<ClassId> children = {args[1].id, terms.FiniteWeight(scaled)};
  children.insert(children.end(), args[4].list.begin(), args[4].list.end());
  return terms.Op("ConvTranspose", children, terms.word(args[0].op).attributes);
}

ClassId ConvShiftedInput(Terms& terms, std::span<const Binding> args) {
  const OpWord& word = terms.word(args[0].op);
  const ClassId weight = args[3].id;
  const auto conv = ReadConvolution(word, terms.type(weight));
  // With pads, which are zeros and not t, results at the border would differ.
  if (!conv || conv->HasPads() || conv->group != 1) return ClassId();
  const std::optional<ClassId> bias = Optional(args[4].list);
  if (bias && !terms.data(*bias).weight_only) return ClassId();
  const ClassId vector = terms.Vector(args[2].id, conv->rank(), 1, conv->in_channels_per_group);
  Ints axes;
  for (int i = 1; i < conv->rank(); ++i) axes.push_back(i);
  const ClassId product = terms.Op("Mul", {weight, AlongInputs(terms, vector, *conv)});
  const ClassId sums = terms.Op("ReduceSum", {product}, {{"axes", axes}, {"keepdims", int64_t{0}}});
  // A large sum would round each product, as a large bias does.
  if (!sums.valid() || !IsShift(terms.data(sums))) return ClassId();
  const ClassId total = bias ? terms.Summed(*bias, sums) : sums;
  return MakeConv(terms, word.attributes, args[1].id, weight, terms.FiniteWeight(total));
}

// --- LayerNormalization ---

// The size of the last axis, if only that is normalized and its size is known.
std::optional<int64_t> NormalizedSize(const OpWord& word, const TensorType& x) {
  if (!x.has_rank() || x.rank() == 0) return std::nullopt;
  const int64_t axis = word.attributes.GetInt("axis", -1);
  if (axis != -1 && axis != x.rank() - 1) return std::nullopt;
  return NumberAt(x, -1);
}

ClassId LayerNormWith(Terms& terms, std::span<const Binding> args, bool scales) {
  const OpWord& word = terms.word(args[0].op);
  const ClassId x = args[1].id;
  const std::optional<int64_t> size = NormalizedSize(word, terms.type(x));
  if (!size) return ClassId();
  const ClassId vector =
      terms.Vector(args[4].id, terms.type(x).rank(), terms.type(x).rank() - 1, *size);
  ClassId scale = args[2].id;
  std::optional<ClassId> bias = Optional(args[3].list);
  if (bias && !terms.data(*bias).weight_only) return ClassId();
  if (scales) {
    scale = terms.Op("Mul", {scale, vector});
    if (bias) bias = terms.Op("Mul", {*bias, vector});
  } else {
    bias = bias ? terms.Summed(*bias, vector) : vector;
  }
  if (bias) return terms.Op("LayerNormalization", {x, scale, *bias}, word.attributes);
  return terms.Op("LayerNormalization", {x, scale}, word.attributes);
}

void AddWords(Words& words) {
  for (const char* prefix : {"conv", "convtranspose", "gemm"}) {
    words.Term(absl::StrCat(prefix, "_scale"), "occlc", [](Terms& terms, auto args) {
      return ScaleContraction(
          terms, ReadContraction(terms, args[0].op, args[1].id, args[2].id, args[3].list),
          args[4].id);
    });
    words.Term(absl::StrCat(prefix, "_shift"), "occlc", [](Terms& terms, auto args) {
      return ShiftContraction(
          terms, ReadContraction(terms, args[0].op, args[1].id, args[2].id, args[3].list),
          args[4].id);
    });
    words.Term(absl::StrCat(prefix, "_batchnorm"), "oocclcccc", [](Terms& terms, auto args) {
      return BatchNormContraction(
          terms, ReadContraction(terms, args[1].op, args[2].id, args[3].id, args[4].list),
          BatchNormAffine(terms, terms.word(args[0].op), args[5].id, args[6].id, args[7].id,
                          args[8].id));
    });
  }
  words.Term("batchnorm_affine", "occccc", [](Terms& terms, auto args) {
    return BatchNormOf(terms, terms.word(args[0].op), args[1].id, args.subspan(2));
  });
  words.Term("conv_scaled_input", "occcl", ConvScaledInput);
  words.Term("conv_shifted_input", "occcl", ConvShiftedInput);
  words.Term("convtranspose_scaled_input", "occcl", ConvTransposeScaledInput);
  words.Term("layernorm_scale", "occlc",
             [](Terms& terms, auto args) { return LayerNormWith(terms, args, true); });
  words.Term("layernorm_shift", "occlc",
             [](Terms& terms, auto args) { return LayerNormWith(terms, args, false); });
}

}  // namespace

Family FusionFamily() { return {"fusion", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
