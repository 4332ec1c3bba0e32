// Rules that compute no more than what is read: a Slice or a Gather of rows, here a pick, moves
// before the operator whose result it takes them of. A language model that predicts the next word
// reads the last row alone, and a classifier with a class token the first one, so most of the last
// layer need not be computed for the other rows. All of them ask whether the result is read in
// parts (read_parts.h), which keeps them away from Slices that share a result among them.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/rules/concat_split.h"
#include "core/rules/family.h"
#include "core/rules/read_parts.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Gather(x; i) = Gather(x; [i]) without the axis, for a number i that gather-slice does not take
gather-row: Gather[?g](?x, ?i) => gathered_row(?g, ?x, ?i)
  if activation(?x) and float(?x) and has_rank(?i, 0)
)";

// What keeps its axis can be moved. Where both the size of the axis and the number are known, it is
// a Slice. args: g, x, i.
ClassId GatheredRow(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[1].id);
  if (!x.has_rank()) return ClassId();
  int64_t axis = terms.word(args[0].op).attributes.GetInt("axis", 0);
  if (axis < 0) axis += x.rank();
  const bool is_slice =
      NumberAt(x, static_cast<int>(axis)) && terms.data(args[2].id).constant.has_value();
  if (is_slice) return ClassId();
  const ClassId row = terms.Op("Gather", {args[1].id, terms.Reshape(args[2].id, {1})},
                               terms.word(args[0].op).attributes);
  return terms.Op("Squeeze", {row}, {{"axes", Ints{axis}}});
}

void AddWords(Words& words) { words.Term("gathered_row", "occ", GatheredRow); }

// --- Picks ---

// The axis of a pick that takes parts along one axis and keeps all axes: a Slice of one axis, or a
// Gather by a vector. `index` is the type of the Gather's indices, null for a Slice.
std::optional<int> PickedAxis(const OpWord& word, const TensorType& x, const TensorType* index) {
  if (!x.has_rank()) return std::nullopt;
  int64_t axis = 0;
  if (word.name == "Slice") {
    const Ints* axes = word.attributes.FindInts("axes");
    if (axes == nullptr || axes->size() != 1) return std::nullopt;
    axis = axes->front();
  } else {
    if (index == nullptr || !index->has_rank() || index->rank() != 1) return std::nullopt;
    axis = word.attributes.GetInt("axis", 0);
  }
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return std::nullopt;
  return static_cast<int>(axis);
}

// The same pick along `axis` of x. `index` is invalid for a Slice.
ClassId Pick(Terms& terms, const OpWord& word, ClassId x, ClassId index, int axis) {
  AttributeMap attributes = word.attributes;
  if (word.name == "Gather") {
    attributes.Set("axis", static_cast<int64_t>(axis));
    return terms.Op("Gather", {x, index}, std::move(attributes));
  }
  attributes.Set("axes", Ints{axis});
  return terms.Op("Slice", {x}, std::move(attributes));
}

// --- Which axis of which operand a pick moves to ---

using Types = std::vector<const TensorType*>;  // Of the operands.
// For each operand the axis that is picked from, or -1 if the operand stays whole.
using Moved = std::optional<std::vector<int>>;

// The axis of an operand that is broadcast to the type of y, along which it is picked from; -1 if
// it has none or is repeated along it; nullopt if it may be either.
std::optional<int> BroadcastAxis(const TensorType& operand, const TensorType& y, int axis) {
  if (!operand.has_rank()) return std::nullopt;
  const int own = axis - (y.rank() - operand.rank());
  if (own < 0 || operand.dim(own).Is(1)) return -1;
  if (!model::SameDim(operand.dim(own), y.dim(axis))) return std::nullopt;
  return own;
}

Moved ThroughElementwise(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  const bool is_unary = word.def->op_class == ops::OpClass::kUnary;
  if (!is_unary && word.def->op_class != ops::OpClass::kBinary) return std::nullopt;
  std::vector<int> axes;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool is_parameter = is_unary && i > 0;
    // Such as the bounds of a Clip. A DequantizeLinear may have one for each position of an axis.
    if (is_parameter && !IsScalar(*types[i], 1)) return std::nullopt;
    const std::optional<int> own =
        is_parameter ? std::optional(-1) : BroadcastAxis(*types[i], y, axis);
    if (!own) return std::nullopt;
    axes.push_back(*own);
  }
  return axes;
}

// Softmax normalizes one axis, LayerNormalization that one and all behind it.
Moved ThroughNormalization(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  const bool is_softmax = word.name == "Softmax" || word.name == "LogSoftmax";
  if (!is_softmax && word.name != "LayerNormalization" && word.name != "RMSNormalization") {
    return std::nullopt;
  }
  int64_t normalized = word.attributes.GetInt("axis", -1);
  if (normalized < 0) normalized += y.rank();
  if (is_softmax ? axis == normalized : axis >= normalized) return std::nullopt;
  std::vector<int> axes = {axis};
  for (size_t i = 1; i < types.size(); ++i) {
    const std::optional<int> own = BroadcastAxis(*types[i], y, axis);
    if (!own) return std::nullopt;
    axes.push_back(*own);
  }
  return axes;
}

// Rows of a product are those of its left factor, columns those of its right one.
Moved ThroughProduct(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  const bool is_gemm = word.name == "Gemm";
  if (!is_gemm && word.name != "MatMul") return std::nullopt;
  for (int i = 0; i < 2; ++i) {
    if (!types[i]->has_rank() || types[i]->rank() < 2) return std::nullopt;
  }
  const bool is_row = axis == y.rank() - 2;
  if (!is_row && axis != y.rank() - 1) {
    const auto left = BroadcastAxis(*types[0], y, axis);
    const auto right = BroadcastAxis(*types[1], y, axis);
    if (!left || !right) return std::nullopt;
    return std::vector{*left, *right};
  }
  const TensorType& factor = *types[is_row ? 0 : 1];
  const bool exchanged = word.attributes.GetInt(is_row ? "transA" : "transB", 0) != 0;
  const int own = factor.rank() - (is_row != exchanged ? 2 : 1);
  std::vector<int> axes = is_row ? std::vector{own, -1} : std::vector{-1, own};
  if (types.size() > 2) {
    const std::optional<int> bias = BroadcastAxis(*types[2], y, axis);
    if (!bias) return std::nullopt;
    axes.push_back(*bias);
  }
  return axes;
}

// The batch of a Conv, or the channels of one that has a single group.
Moved ThroughConv(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  if (word.name != "Conv" || axis > 1 || !y.has_rank()) return std::nullopt;
  if (axis == 1 && word.attributes.GetInt("group", 1) != 1) return std::nullopt;
  std::vector<int> axes(types.size(), axis == 0 ? -1 : 0);
  axes[0] = axis == 0 ? 0 : -1;
  return axes;
}

// The batch and the channels of a pool.
Moved ThroughPool(const OpWord& word, const Types& types, const TensorType&, int axis) {
  const bool is_pool = word.name == "MaxPool" || word.name == "AveragePool";
  if (!is_pool || types.size() != 1 || axis > 1) return std::nullopt;
  return std::vector{axis};
}

Moved ThroughReduction(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  const TensorType& x = *types[0];
  if (word.def->reduced_axes == nullptr || types.size() != 1 || !x.has_rank() ||
      x.rank() != y.rank()) {
    return std::nullopt;
  }
  const auto reduced = word.def->reduced_axes(word.attributes, x.rank());
  if (!reduced.ok() || std::ranges::find(*reduced, axis) != reduced->end()) return std::nullopt;
  return std::vector{axis};
}

// The axis of x that a Reshape to y leaves alone and makes `axis`: all before it, or all behind it,
// are the same.
std::optional<int> KeptAxis(const TensorType& x, const TensorType& y, int axis) {
  int same = 0;
  while (same < std::min(x.rank(), y.rank()) && model::SameDim(x.dim(same), y.dim(same))) ++same;
  if (axis < same) return axis;
  const int behind = y.rank() - axis;
  if (behind > x.rank()) return std::nullopt;
  for (int i = 1; i <= behind; ++i) {
    if (!model::SameDim(x.dim(x.rank() - i), y.dim(y.rank() - i))) return std::nullopt;
  }
  return x.rank() - behind;
}

Moved ThroughMove(const OpWord& word, const Types& types, const TensorType& y, int axis) {
  const TensorType& x = *types[0];
  if (types.size() != 1 || !x.has_rank()) return std::nullopt;
  if (word.name == "Transpose") {
    const Ints* perm = word.attributes.FindInts("perm");
    if (perm == nullptr || static_cast<int>(perm->size()) != x.rank()) return std::nullopt;
    return std::vector{static_cast<int>((*perm)[axis])};
  }
  if (word.name != "Reshape") return std::nullopt;
  const std::optional<int> own = KeptAxis(x, y, axis);
  return own ? Moved(std::vector{*own}) : std::nullopt;
}

using MovedFn = Moved (*)(const OpWord& word, const Types& types, const TensorType& y, int axis);

// --- The rules ---

// Match: root, result of f, operands of f, then the indices of a Gather; the pick and f. Numbers:
// whether there are indices.
template <MovedFn kThrough>
void SearchPicks(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  absl::flat_hash_map<ClassId, bool> read_in_parts;
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto pick = view.graph().node(enode);
    const ClassId y = view.graph().Find(pick.children[0]);
    const bool has_index = view.word(enode).name == "Gather";
    if (pick.children.size() != (has_index ? 2 : 1)) return true;  // A Slice to a computed place.
    const TensorType* index = has_index ? &view.type(pick.children[1]) : nullptr;
    const std::optional<int> axis = PickedAxis(view.word(enode), view.type(y), index);
    if (!axis || view.data(y).weight_only || !model::IsFloat(view.type(y).dtype)) return true;
    for (const ENodeId inner : view.graph().nodes(y)) {
      const OpWord& word = view.word(inner);
      if (word.sort != OpWord::Sort::kOperator) continue;
      const auto f = view.graph().node(inner);
      Types types;
      for (const ClassId operand : f.children) types.push_back(&view.type(operand));
      if (types.empty() || !kThrough(word, types, view.type(y), *axis)) continue;
      const auto [known, is_new] = read_in_parts.try_emplace(y, false);
      if (is_new) known->second = IsReadInParts(view, y);
      if (!known->second) return true;
      SiteMatch match{{view.graph().class_of(enode), y}, {pick.op, f.op}, {has_index}};
      match.classes.insert(match.classes.end(), f.children.begin(), f.children.end());
      if (has_index) match.classes.push_back(pick.children[1]);
      if (!emit(std::move(match))) return false;
    }
    return true;
  });
}

// ONNX Runtime has no Conv or pool without channels, and what is picked may be nothing.
bool NeedsChannels(const OpWord& f) {
  return f.name == "Conv" || f.name == "MaxPool" || f.name == "AveragePool";
}

// The attributes of f where it computes `part` of y: a Reshape names the shape.
ClassId Applied(Terms& terms, const OpWord& f, std::span<const ClassId> operands,
                const TensorType& part) {
  if (f.name == "Reshape") return terms.ReshapeTo(operands[0], part);
  return terms.Op(f.name, operands, f.attributes);
}

template <MovedFn kThrough>
std::vector<Equation> MovePick(Terms& terms, const SiteMatch& match) {
  const bool has_index = match.numbers[0] != 0;
  const ClassId index = has_index ? match.classes.back() : ClassId();
  const OpWord& pick = terms.word(match.ops[0]);
  const OpWord& f = terms.word(match.ops[1]);
  std::vector<ClassId> operands(match.classes.begin() + 2,
                                match.classes.end() - (has_index ? 1 : 0));
  Types types;
  for (const ClassId operand : operands) types.push_back(&terms.type(operand));
  const TensorType& y = terms.type(match.classes[1]);
  const auto axis = PickedAxis(pick, y, has_index ? &terms.type(index) : nullptr);
  if (!axis || (*axis == 1 && NeedsChannels(f) &&
                NumberAt(terms.type(match.classes[0]), 1).value_or(0) < 1)) {
    return {};
  }
  const Moved axes = kThrough(f, types, y, *axis);
  if (!axes || std::ranges::all_of(*axes, [](int own) { return own < 0; })) return {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const int own = (*axes)[i];
    if (own >= 0) operands[i] = Pick(terms, pick, operands[i], index, own);
    if (!operands[i].valid()) return {};
  }
  const ClassId part = Applied(terms, f, operands, terms.type(match.classes[0]));
  if (!part.valid() || !SameType(terms.type(part), terms.type(match.classes[0]))) return {};
  return {{match.classes[0], part}};
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  static constexpr absl::string_view kPicks[] = {"Slice", "Gather"};
  const auto add = [&](const char* name, const char* equation, SiteRule::SearchFn search,
                       SiteRule::BuildFn build) {
    rules.push_back(std::make_unique<SiteRule>(domain, name, equation, kPicks, std::move(search),
                                               std::move(build)));
  };
  add("pick-of-elementwise", "Slice(x + y) = Slice(x) + Slice(y), if little is read of x + y",
      SearchPicks<ThroughElementwise>, MovePick<ThroughElementwise>);
  add("pick-of-normalization", "Slice(LN(x)) = LN(Slice(x)), along another axis; Softmax alike",
      SearchPicks<ThroughNormalization>, MovePick<ThroughNormalization>);
  add("pick-of-product", "Slice(x y) = Slice(x) y, along rows, columns or the batch",
      SearchPicks<ThroughProduct>, MovePick<ThroughProduct>);
  add("pick-of-conv", "Slice(Conv(x, w)) = Conv(x, Slice(w)), along channels; the batch alike",
      SearchPicks<ThroughConv>, MovePick<ThroughConv>);
  add("pick-of-pool", "Slice(MaxPool(x)) = MaxPool(Slice(x)), along channels or the batch",
      SearchPicks<ThroughPool>, MovePick<ThroughPool>);
  add("pick-of-reduction", "Slice(ReduceSum(x)) = ReduceSum(Slice(x)), along an axis that stays",
      SearchPicks<ThroughReduction>, MovePick<ThroughReduction>);
  add("pick-of-move",
      "Slice(Transpose(x)) = Transpose(Slice(x)); a Reshape alike, an axis it keeps",
      SearchPicks<ThroughMove>, MovePick<ThroughMove>);
}

}  // namespace

Family PickFamily() { return {"pick", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
