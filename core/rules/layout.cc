// Rules about Transposes and views: they compose, cancel, and move through element-wise operators;
// and about Shape: sizes are read where the model gets them.

#include <algorithm>
#include <numeric>

#include "core/base/checked.h"
#include "core/rules/family.h"
#include "core/rules/site_rule.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Transpose(Transpose(x; q); p) = Transpose(x; q p)
transpose-transpose: Transpose[?p](Transpose[?q](?x)) => transposed_twice(?p, ?q, ?x)
# Transpose(x; identity) = x
transpose-identity: Transpose[?p](?x) => ?x if is_identity(?p)
# Transpose(x) = Reshape(x), if only dimensions of 1 change their order with others
transpose-of-ones: ?y = Transpose[?p](?x) => reshape_to(?x, ?y) if moves_only_ones(?p, ?x)

# Squeeze(x) = Reshape(x)
squeeze-reshape: ?y = Squeeze(?x) => reshape_to(?x, ?y) if not weight(?x)
# Unsqueeze(x) = Reshape(x)
unsqueeze-reshape: ?y = Unsqueeze(?x) => reshape_to(?x, ?y) if not weight(?x)
# Flatten(x) = Reshape(x)
flatten-reshape: ?y = Flatten(?x) => reshape_to(?x, ?y) if not weight(?x)
# Reshape(Reshape(x)) = Reshape(x)
reshape-reshape: ?y = Reshape(Reshape(?x)) => reshape_to(?x, ?y)
# Unsqueeze(Squeeze(x)) = x, if it has the shape of x
unsqueeze-squeeze: ?y = Unsqueeze(Squeeze(?x)) => ?x if same(?x, ?y)
# Reshape(x) + Reshape(y) = Reshape(x + y), x and y of one shape; so for Squeeze
add-of-reshapes: Add(Reshape[?r](?x), Reshape[?r](?y)) => Reshape[?r](Add(?x, ?y))
  if same(?x, ?y) and activation(?x) and activation(?y)
add-of-reshapes: Add(Squeeze[?r](?x), Squeeze[?r](?y)) => Squeeze[?r](Add(?x, ?y))
  if same(?x, ?y) and activation(?x) and activation(?y)
# Reshape(x; shape of x) = x
reshape-same: ?y = Reshape(?x) => ?x if same(?x, ?y)
# Expand(x) = x, x of that shape already
expand-same: ?y = Expand(?x) => ?x if same(?x, ?y)
# Tile(x) = x, once along every axis
tile-same: ?y = Tile(?x) => ?x if same(?x, ?y)
# Pad(x; 0) = x
pad-nothing: Pad[?p](?x) => ?x if pads_nothing(?p)
# Expand(Expand(x)) = Expand(x)
expand-expand: ?y = Expand(Expand(?x)) => expand_to(?x, ?y)
# Expand(x) + y = x + y, if y has the full shape already; x no constant of zeros (see sub-neg)
expand-binary: ?z = Add(Expand(?x, ?s...), ?y)
  => Add(?y, ?x) if same(?z, ?y) and float(?y) and keeps(?y, ?x) and not is(?x, 0)
expand-binary: ?z = Add(?y, Expand(?x, ?s...))
  => Add(?y, ?x) if same(?z, ?y) and float(?y) and keeps(?y, ?x) and not is(?x, 0)
# Expand(x) y = x y, y of at least that shape
expand-multiply: ?z = Mul(Expand(?x, ?s...), ?y)
  => Mul(?y, ?x) if same(?z, ?y) and float(?y) and keeps(?y, ?x)
expand-multiply: ?z = Mul(?y, Expand(?x, ?s...))
  => Mul(?y, ?x) if same(?z, ?y) and float(?y) and keeps(?y, ?x)

# Pad(x) + Pad(y) = Pad(x + y), and the same for a product; zeros
binary-of-pads: Add(Pad[?p](?x), Pad[?p](?y)) => Pad[?p](Add(?x, ?y))
  if same(?x, ?y) and pads_zeros(?p) and float(?x)
binary-of-pads: Sub(Pad[?p](?x), Pad[?p](?y)) => Pad[?p](Sub(?x, ?y))
  if same(?x, ?y) and pads_zeros(?p) and float(?x)
binary-of-pads: Mul(Pad[?p](?x), Pad[?p](?y)) => Pad[?p](Mul(?x, ?y))
  if same(?x, ?y) and pads_zeros(?p) and float(?x)

# Reshape(Transpose(Reshape(x))) = Transpose(x), if axes are only grouped for a while
reshape-transpose-reshape: ?y = Reshape(Transpose[?p](Reshape[?r](?x)))
  => ungrouped_transpose(?p, ?r, ?x, ?y)

# Transpose(x) + Transpose(y) = Transpose(x + y), and the same for the other operators
transpose-add: Add(Transpose[?p](?x), Transpose[?p](?y))
  => Transpose[?p](Add(?x, ?y)) if same_rank(?x, ?y)
# x' y' = (x y)', ' the same Transpose
transpose-mul: Mul(Transpose[?p](?x), Transpose[?p](?y))
  => Transpose[?p](Mul(?x, ?y)) if same_rank(?x, ?y)
# x' - y' = (x - y)', ' the same Transpose
transpose-sub: Sub(Transpose[?p](?x), Transpose[?p](?y))
  => Transpose[?p](Sub(?x, ?y)) if same_rank(?x, ?y)
# x' / y' = (x / y)', ' the same Transpose
transpose-div: Div(Transpose[?p](?x), Transpose[?p](?y))
  => Transpose[?p](Div(?x, ?y)) if same_rank(?x, ?y)
# Transpose(x + y) = Transpose(x) + Transpose(y), if one of the two cancels a Transpose
add-transpose: Transpose[?p](Add(Transpose[?q](?x), ?y)) => Add(?x, transposed(?p, ?y))
  if undoes(?p, ?q) and same_rank(?x, ?y)
add-transpose: Transpose[?p](Add(?x, Transpose[?q](?y))) => Add(transposed(?p, ?x), ?y)
  if undoes(?p, ?q) and same_rank(?x, ?y)
# Transpose(x) + c = Transpose(x + c'), c' = c transposed back
transpose-add-constant: Add(Transpose[?p](?x), ?c)
  => Transpose[?p](Add(?x, transposed_back(?p, ?x, ?c)))
  if weight(?c) and activation(?x)
# x' c = (x c')', c a constant
transpose-mul-constant: Mul(Transpose[?p](?x), ?c)
  => Transpose[?p](Mul(?x, transposed_back(?p, ?x, ?c)))
  if weight(?c) and activation(?x)
# Reshape(x) c = Reshape(x c), c a scalar
reshape-mul-scalar: ?y = Mul(Reshape[?r](?x), ?c) => Reshape[?r](Mul(?x, ?c))
  if weight(?c) and activation(?x) and scalar(?c, ?x) and reshapes_to_rank(?r, ?y)
# Reshape(x) + c = Reshape(x + c), c along the last axis, which stays
reshape-add-vector: ?y = Add(Reshape[?r](?x), ?c)
  => Reshape[?r](Add(?x, last_axis(?c, ?x, ?y)))
  if weight(?c) and activation(?x) and keeps_last(?r, ?x) and reshapes_to_rank(?r, ?y)
# Reshape(x + c) = Reshape(x) + c, c along the last axis, which stays
add-vector-reshape: ?y = Reshape[?r](Add(?x, ?c))
  => Add(Reshape[?r](?x), last_axis(?c, ?x, ?y))
  if weight(?c) and activation(?x) and keeps(?x, ?c)
# Reshape(Reshape(x) + c) = x + c', the first only parts axes: c' = c repeated along these, joined
add-between-reshapes: ?y = Reshape(Add(Reshape[?r](?x), ?c)) => add_joined(?r, ?x, ?c)
  if weight(?c) and activation(?x) and same(?x, ?y)
)";

std::optional<Ints> Perm(const OpWord& word) {
  const Ints* perm = word.attributes.FindInts("perm");
  return perm == nullptr ? std::nullopt : std::optional<Ints>(*perm);
}

bool FitsRank(const Ints& perm, const TensorType& x) {
  return x.has_rank() && static_cast<size_t>(x.rank()) == perm.size();
}

Ints Compose(const Ints& outer, const Ints& inner) {
  Ints result;
  for (const int64_t axis : outer) result.push_back(inner[axis]);
  return result;
}

Ints Inverse(const Ints& perm) {
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<int64_t>(i);
  return inverse;
}

// Whether all axes that may have a size other than 1 keep their order.
bool MovesOnlyOnes(const Ints& perm, const TensorType& x) {
  if (!FitsRank(perm, x)) return false;
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (x.dim(static_cast<int>(axis)).Is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The constant c transposed by the inverse permutation, with axes of size 1 in front up to the rank
// of x: what is added to x if c is added to Transpose(x). args: p, x, c.
ClassId TransposedBack(Terms& terms, std::span<const Binding> args) {
  const std::optional<Ints> perm = Perm(terms.word(args[0].op));
  const TensorType& x = terms.type(args[1].id);
  const TensorType c = terms.type(args[2].id);
  if (!perm || !FitsRank(*perm, x) || !c.is_static() || c.rank() > x.rank()) return ClassId();
  if (c.elements() == 1) return args[2].id;
  // c must not enlarge x, because the sum would then have another shape than Transpose(x).
  for (int i = 0; i < c.rank(); ++i) {
    const int axis = x.rank() - c.rank() + i;
    if (!c.dim(i).Is(1) && !model::SameDim(c.dim(i), x.dim(static_cast<int>((*perm)[axis])))) {
      return ClassId();
    }
  }
  Ints dims(x.rank() - c.rank(), 1);
  for (const int64_t dim : c.dims()) dims.push_back(dim);
  const ClassId full = terms.ReshapeTo(args[2].id, model::StaticType(c.dtype, dims));
  return terms.Transpose(full, Inverse(*perm));
}

// c as a vector over the last axis, if x and y have the same size there. args: c, x, y.
ClassId LastAxis(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[1].id);
  const TensorType& y = terms.type(args[2].id);
  const std::optional<int64_t> size = NumberAt(x, -1);
  if (!size || NumberAt(y, -1) != size) return ClassId();
  const int rank = std::min(x.rank(), y.rank());
  return terms.Vector(args[0].id, rank, rank - 1, *size);
}

// c, which has the parted axes of `groups` or fewer in front, repeated along each group that it
// varies in, and with the groups joined. Returns an invalid class where that would be large.
ClassId Joined(Terms& terms, ClassId c, const model::Shape& parted,
               const std::vector<Ints>& groups) {
  constexpr int64_t kMostElements = 1 << 20;
  const TensorType type = terms.type(c);
  Ints own(parted.size() - type.rank(), 1);  // The sizes of c along the parted axes.
  for (const int64_t size : type.dims()) own.push_back(size);
  Ints repeated = own;
  Ints joined;
  int64_t elements = 1;
  for (const Ints& group : groups) {
    const bool varies = std::ranges::any_of(group, [&](int64_t axis) { return own[axis] != 1; });
    int64_t size = 1;
    for (const int64_t axis : group) {
      if (!varies) continue;
      if (!parted[axis].is_number()) return ClassId();
      repeated[axis] = parted[axis].number();
      size *= repeated[axis];
    }
    elements = CheckedMul(elements, size).value_or(kMostElements + 1);
    if (elements > kMostElements) return ClassId();
    joined.push_back(size);
  }
  const ClassId whole = repeated == own ? c : terms.Op("Expand", {c}, {{"shape", repeated}});
  return terms.ReshapeTo(whole, model::StaticType(type.dtype, joined));
}

// args: r, x, c
ClassId AddJoined(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[1].id, c = args[2].id;
  // The e-node is there already; its class tells the sizes.
  const ClassId reshaped = terms.Op("Reshape", {x}, terms.word(args[0].op).attributes);
  if (!reshaped.valid()) return ClassId();
  const TensorType parted = terms.type(reshaped);
  if (!terms.type(x).has_rank() || !terms.type(c).is_static() ||
      !KeepsShape(parted, terms.type(c))) {
    return ClassId();
  }
  const auto groups = GroupAxes(*parted.shape, *terms.type(x).shape);
  if (!groups) return ClassId();
  const ClassId joined = Joined(terms, c, *parted.shape, *groups);
  return joined.valid() ? terms.Op("Add", {x, joined}) : ClassId();
}

// Whether a Reshape of x certainly keeps the size of the last axis. If not, c might be broadcast
// along an axis of size 1, and the sum would be larger than x.
bool KeepsLastAxis(const OpWord& reshape, const TensorType& x) {
  const Ints* shape = reshape.attributes.FindInts("shape");
  const std::optional<int64_t> size = NumberAt(x, -1);
  if (shape == nullptr || shape->empty() || !size || *size == 0) return false;
  if (shape->back() >= 0) {
    const bool copied = shape->back() == 0 && static_cast<int>(shape->size()) == x.rank();
    return copied || shape->back() == *size;
  }
  if (!x.is_static()) return false;
  int64_t others = 1;
  for (size_t i = 0; i + 1 < shape->size(); ++i) {
    const bool copied = (*shape)[i] == 0 && static_cast<int>(i) < x.rank();
    others *= copied ? x.dim(static_cast<int>(i)).number() : (*shape)[i];
  }
  return others * *size == x.elements();
}

ClassId UngroupedTranspose(Terms& terms, std::span<const Binding> args) {
  const std::optional<Ints> perm = Perm(terms.word(args[0].op));
  const ClassId x = args[2].id;
  // The e-node is there already; its class tells the sizes.
  const ClassId grouped = terms.Op("Reshape", {x}, terms.word(args[1].op).attributes);
  if (!perm || !grouped.valid() || !FitsRank(*perm, terms.type(grouped)) ||
      !terms.type(x).has_rank()) {
    return ClassId();
  }
  const auto groups = GroupAxes(*terms.type(x).shape, *terms.type(grouped).shape);
  if (!groups) return ClassId();
  Ints full;
  for (const int64_t group : *perm) {
    full.insert(full.end(), (*groups)[group].begin(), (*groups)[group].end());
  }
  // The result has the shape of y if the last Reshape only splits the groups again. Otherwise a
  // Reshape remains.
  const TensorType y = terms.type(args[3].id);
  return terms.ReshapeTo(terms.Transpose(x, std::move(full)), y);
}

void AddWords(Words& words) {
  words.Term("transposed_twice", "ooc", [](Terms& terms, auto args) {
    const auto outer = Perm(terms.word(args[0].op));
    const auto inner = Perm(terms.word(args[1].op));
    if (!outer || !inner || outer->size() != inner->size()) return ClassId();
    return terms.Transpose(args[2].id, Compose(*outer, *inner));
  });
  words.Guard("is_identity", "o", Purpose::kEquation, [](const View& view, auto args) {
    const auto perm = Perm(view.word(args[0].op));
    return perm && std::is_sorted(perm->begin(), perm->end());
  });
  words.Guard("moves_only_ones", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const auto perm = Perm(view.word(args[0].op));
    return perm && MovesOnlyOnes(*perm, view.type(args[1].id));
  });
  words.Guard("pads_nothing", "o", Purpose::kEquation, [](const View& view, auto args) {
    const Ints* pads = view.word(args[0].op).attributes.FindInts("pads");
    return pads != nullptr &&
           std::count(pads->begin(), pads->end(), 0) == static_cast<std::ptrdiff_t>(pads->size());
  });
  words.Guard("keeps_last", "oc", Purpose::kEquation, [](const View& view, auto args) {
    return KeepsLastAxis(view.word(args[0].op), view.type(args[1].id));
  });
  // Else c has more axes than the Reshape of x.
  words.Guard("reshapes_to_rank", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const Ints* shape = view.word(args[0].op).attributes.FindInts("shape");
    const TensorType& y = view.type(args[1].id);
    return shape != nullptr && y.has_rank() && static_cast<int>(shape->size()) == y.rank();
  });
  words.Guard("undoes", "oo", Purpose::kEquation, [](const View& view, auto args) {
    const auto outer = Perm(view.word(args[0].op));
    const auto inner = Perm(view.word(args[1].op));
    if (!outer || !inner || outer->size() != inner->size()) return false;
    const Ints both = Compose(*outer, *inner);
    return std::is_sorted(both.begin(), both.end());
  });
  words.Term("transposed", "oc", [](Terms& terms, auto args) {
    const auto perm = Perm(terms.word(args[0].op));
    if (!perm || !FitsRank(*perm, terms.type(args[1].id))) return ClassId();
    return terms.Transpose(args[1].id, *perm);
  });
  words.Term("expand_to", "cc", [](Terms& terms, auto args) {
    const TensorType& type = terms.type(args[1].id);
    if (!type.is_static()) return ClassId();
    return terms.Op("Expand", {args[0].id}, {{"shape", type.dims()}});
  });
  words.Term("transposed_back", "occ", TransposedBack);
  words.Term("last_axis", "ccc", LastAxis);
  words.Term("add_joined", "occ", AddJoined);
  words.Term("ungrouped_transpose", "oocc", UngroupedTranspose);
}

// --- Unary operators through Transpose, Reshape, Expand and Tile ---

// Both find sites at such an operator g. Classes of a match: the root and x. Words: the outer
// and the inner operator.

// Finds f(g(x)), f unary.
void SearchUnaryOfMove(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  const EGraph& graph = view.graph();
  VisitUntilFalse(anchors, [&](ENodeId move) {
    const auto moved = graph.node(move);
    if (moved.children.size() != 1) return true;
    bool more = true;
    ForEachNarrowParent(view, graph.class_of(move), [&](ENodeId parent) {
      const auto outer = graph.node(parent);
      if (!IsUnary(view.word(parent)) || outer.children.size() != 1) return true;
      more = emit({{graph.class_of(parent), moved.children[0]}, {outer.op, moved.op}, {}});
      return more;
    });
    return more;
  });
}

// Finds g(f(x)), f unary.
void SearchMoveOfUnary(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  const EGraph& graph = view.graph();
  VisitUntilFalse(anchors, [&](ENodeId move) {
    const auto moved = graph.node(move);
    if (moved.children.size() != 1) return true;
    for (const ENodeId inner : graph.nodes(moved.children[0])) {
      const auto unary = graph.node(inner);
      if (!IsUnary(view.word(inner)) || unary.children.size() != 1) continue;
      if (!emit({{graph.class_of(move), unary.children[0]}, {moved.op, unary.op}, {}})) {
        return false;
      }
    }
    return true;
  });
}

// Exchanges the two operators. Their attributes stay the same, because f keeps the shape.
std::vector<Equation> ExchangeUnaryMove(Terms& terms, const SiteMatch& match) {
  const OpWord& outer = terms.word(match.ops[0]);
  const OpWord& inner = terms.word(match.ops[1]);
  const ClassId x = match.classes[1];
  const ClassId first = terms.Op(outer.name, {x}, outer.attributes);
  return {{match.classes[0], terms.Op(inner.name, {first}, inner.attributes)}};
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  static constexpr absl::string_view kMoves[] = {"Transpose", "Reshape"};
  rules.push_back(std::make_unique<SiteRule>(domain, "unary-of-move",
                                             "f(Transpose(x)) = Transpose(f(x)), f element-wise",
                                             kMoves, SearchUnaryOfMove, ExchangeUnaryMove));
  rules.push_back(std::make_unique<SiteRule>(domain, "move-of-unary",
                                             "Transpose(f(x)) = f(Transpose(x)), f element-wise",
                                             kMoves, SearchMoveOfUnary, ExchangeUnaryMove));
  static constexpr absl::string_view kRepeats[] = {"Expand", "Tile"};
  rules.push_back(std::make_unique<SiteRule>(
      domain, "unary-of-repeat", "f(Expand(x)) = Expand(f(x)), f element-wise; a Tile alike",
      kRepeats, SearchUnaryOfMove, ExchangeUnaryMove));
}

}  // namespace

Family LayoutFamily() { return {"layout", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
