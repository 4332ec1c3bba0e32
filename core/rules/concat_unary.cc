// Moves element-wise operators of one input, and normalizations, through Concat and Slice, to where
// they can be merged into a contraction, or to where one of them does the work of several. "Match:"
// lists the classes and then the operator words of a match.

#include <algorithm>
#include <map>
#include <set>

#include "core/rules/concat_split.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

bool IsContraction(const OpWord& word) {
  return word.sort == OpWord::Sort::kOperator && word.def->op_class == ops::OpClass::kContraction;
}

// Whether exactly one e-node reads the class, no matter how often.
bool HasOneReader(const View& view, ClassId cls) {
  const egraph::EGraph& graph = view.graph();
  const egraph::NodeStore& store = graph.store();
  ENodeId reader;
  for (egraph::UseId use = store.class_row(graph.Find(cls)).first_use; use.valid();
       use = store.NextUse(use)) {
    const ENodeId enode = store.NodeOf(use);
    if (!graph.live(enode) || enode == reader) continue;
    if (reader.valid()) return false;
    reader = enode;
  }
  return reader.valid();
}

}  // namespace

bool SomeCanTakeMore(const View& view, std::span<const ClassId> parts) {
  std::set<ClassId> asked;
  return std::ranges::any_of(parts, [&](ClassId part) {
    return NodeOf(view, part, IsContraction).has_value() && asked.insert(part).second &&
           HasOneReader(view, part);
  });
}

namespace {

// concat-of-unary: Concat(f(x), f(y), ..) = f(Concat(x, y, ..)). Match: root, x, y..; Concat, f.
void SearchConcatOfUnary(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    if (node.children.size() < 2) return true;
    for (const ENodeId first : view.graph().nodes(view.graph().Find(node.children[0]))) {
      if (!IsUnary(view.word(first)) || view.graph().node(first).children.size() != 1) continue;
      const OpId op = view.graph().node(first).op;
      SiteMatch match{{view.graph().class_of(enode)}, {node.op, op}, {}};
      for (const ClassId part : node.children) {
        const auto same =
            NodeOf(view, part, [&](const OpWord& word) { return &word == &view.word(op); });
        if (!same) break;
        match.classes.push_back(view.graph().node(*same).children[0]);
      }
      if (match.classes.size() == node.children.size() + 1 && !emit(std::move(match))) return false;
    }
    return true;
  });
}

std::vector<Equation> UnaryOutOfConcat(Terms& terms, const SiteMatch& match) {
  const OpWord& unary = terms.word(match.ops[1]);
  const std::vector<ClassId> parts = PartsOf(match);
  // If f is a Cast, the parts may have different types. Op then refuses their Concat.
  const ClassId joined = terms.Op("Concat", parts, terms.word(match.ops[0]).attributes);
  return {{match.classes[0], terms.Op(unary.name, {joined}, unary.attributes)}};
}

// concat-of-normalization: Concat(f(x), f(y), ..) = f(Concat(x, y, ..)), f a Softmax or the like
// along other axes. Match: root, f's operands but the first, x, y..; Concat, f. Numbers: how many
// operands.
bool IsNormalization(const OpWord& word) {
  return IsOperator(word, "Softmax") || IsOperator(word, "LogSoftmax") ||
         IsOperator(word, "LayerNormalization") || IsOperator(word, "RMSNormalization");
}

std::vector<ClassId> OtherOperands(const View& view, ENodeId enode) {
  std::vector<ClassId> others;
  for (const ClassId operand : view.graph().node(enode).children.subspan(1)) {
    others.push_back(view.graph().Find(operand));
  }
  return others;
}

// What the class normalizes by that word and these other operands.
std::optional<ClassId> NormalizedBy(const View& view, ClassId cls, OpId op,
                                    const std::vector<ClassId>& others) {
  for (const ENodeId enode : view.graph().nodes(view.graph().Find(cls))) {
    const auto node = view.graph().node(enode);
    if (node.op == op && OtherOperands(view, enode) == others) return node.children[0];
  }
  return std::nullopt;
}

void SearchConcatOfNormalization(const View& view, std::span<const ENodeId> anchors,
                                 const EmitFn& emit) {
  const egraph::EGraph& graph = view.graph();
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = graph.node(enode);
    if (node.children.size() < 2) return true;
    for (const ENodeId first : graph.nodes(graph.Find(node.children[0]))) {
      if (!IsNormalization(view.word(first))) continue;
      const OpId op = graph.node(first).op;
      const std::vector<ClassId> shared = OtherOperands(view, first);
      SiteMatch match{
          {graph.class_of(enode)}, {node.op, op}, {static_cast<int64_t>(shared.size())}};
      match.classes.insert(match.classes.end(), shared.begin(), shared.end());
      for (const ClassId part : node.children) {
        const auto x = NormalizedBy(view, part, op, shared);
        if (!x) break;
        match.classes.push_back(*x);
      }
      const bool are_all = match.classes.size() == 1 + shared.size() + node.children.size();
      if (are_all && !emit(std::move(match))) return false;
    }
    return true;
  });
}

std::vector<Equation> NormalizationOutOfConcat(Terms& terms, const SiteMatch& match) {
  const OpWord& word = terms.word(match.ops[1]);
  const auto first = match.classes.begin() + 1 + match.numbers[0];
  const std::vector<ClassId> parts(first, match.classes.end());
  const TensorType& x = terms.type(parts[0]);
  if (!x.has_rank()) return {};
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), x);
  int64_t normalized = word.attributes.GetInt("axis", -1);
  if (normalized < 0) normalized += x.rank();
  const bool is_softmax = word.name == "Softmax" || word.name == "LogSoftmax";
  const bool is_other = is_softmax ? axis != normalized : axis < normalized;
  // The scale of a normalization may have more axes than it normalizes.
  for (auto shared = match.classes.begin() + 1; shared != first; ++shared) {
    const TensorType& type = terms.type(*shared);
    if (!type.has_rank() || type.rank() > x.rank() - normalized) return {};
  }
  if (axis < 0 || !is_other || !CanConcat(terms, parts, axis)) return {};
  std::vector<ClassId> operands = {terms.Concat(parts, axis)};
  operands.insert(operands.end(), match.classes.begin() + 1, first);
  return {{match.classes[0], terms.Op(word.name, operands, word.attributes)}};
}

// unary-of-concat: f(Concat(x, y, ..)) = Concat(f(x), f(y), ..), if f can then be merged into a
// contraction. Match: root, x, y..; Concat, f.
void SearchUnaryOfConcat(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    if (!SomeCanTakeMore(view, node.children)) return true;
    bool more = true;
    ForEachNarrowParent(view, view.graph().class_of(enode), [&](ENodeId parent) {
      const auto outer = view.graph().node(parent);
      if (!IsUnary(view.word(parent)) || outer.children.size() != 1) return true;
      SiteMatch match{{view.graph().class_of(parent)}, {node.op, outer.op}, {}};
      match.classes.insert(match.classes.end(), node.children.begin(), node.children.end());
      more = emit(std::move(match));
      return more;
    });
    return more;
  });
}

std::vector<Equation> UnaryIntoConcat(Terms& terms, const SiteMatch& match) {
  const OpWord& unary = terms.word(match.ops[1]);
  std::vector<ClassId> parts = PartsOf(match);
  for (ClassId& part : parts) part = terms.Op(unary.name, {part}, unary.attributes);
  return {{match.classes[0], terms.Op("Concat", parts, terms.word(match.ops[0]).attributes)}};
}

// slices-of-unary: f(Slice(x)), for all Slices that together tile an axis of x, become Slices of
// f(x). Match: x, the class of each f(Slice); f, each Slice.
void SearchTiledUnary(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  struct Tile {
    SliceRange range;
    ENodeId slice;
  };
  std::map<std::pair<ClassId, int64_t>, std::vector<Tile>> tiles;
  for (const ClassId x : FirstOperands(view, anchors)) {
    if (view.data(x).weight_only) continue;
    for (const ENodeId enode : ReadersOfFirst(view, x, view.graph().kind(anchors[0]))) {
      if (view.graph().node(enode).children.size() != 1) continue;
      const auto range = Range(view.word(enode), view.type(x));
      if (range) tiles[{x, range->axis}].push_back({*range, enode});
    }
  }
  for (auto& [key, slices] : tiles) {
    const ClassId x = key.first;
    std::vector<Tile>& group = slices;
    std::sort(group.begin(), group.end(),
              [](const Tile& a, const Tile& b) { return a.range.begin < b.range.begin; });
    int64_t position = 0;
    bool tiled = group.size() >= 2;
    for (const Tile& tile : group) {
      tiled &= tile.range.begin == position;
      position = tile.range.end;
    }
    if (!tiled || NumberAt(view.type(x), static_cast<int>(key.second)) != position) continue;
    // Each f that is applied to the first Slice must be applied to all others, too.
    const ClassId first = view.graph().class_of(group[0].slice);
    bool more = true;
    ForEachNarrowParent(view, first, [&](ENodeId user) {
      const auto outer = view.graph().node(user);
      if (!IsUnary(view.word(user)) || outer.children.size() != 1) return true;
      SiteMatch match{{x}, {outer.op}, {}};
      for (const Tile& tile : group) {
        const ClassId operand[] = {view.graph().class_of(tile.slice)};
        const auto applied = view.graph().Lookup(outer.op, operand);
        if (!applied) break;
        match.classes.push_back(*applied);
        match.ops.push_back(view.graph().node(tile.slice).op);
      }
      if (match.classes.size() == group.size() + 1) more = emit(std::move(match));
      return more;
    });
    if (!more) return;
  }
}

std::vector<Equation> UnaryBeforeTiles(Terms& terms, const SiteMatch& match) {
  const OpWord& unary = terms.word(match.ops[0]);
  const ClassId applied = terms.Op(unary.name, {match.classes[0]}, unary.attributes);
  std::vector<Equation> equations;
  for (size_t i = 1; i < match.classes.size(); ++i) {
    const ClassId slice = terms.Op("Slice", {applied}, terms.word(match.ops[i]).attributes);
    equations.push_back({match.classes[i], slice});
  }
  return equations;
}

// slice-of-unary: Slice(f(x)) = f(Slice(x)). Match: root, x; Slice, f.
void SearchSliceOfUnary(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto slice = view.graph().node(enode);
    if (slice.children.size() != 1) return true;
    for (const ENodeId inner : view.graph().nodes(slice.children[0])) {
      const auto unary = view.graph().node(inner);
      if (!IsUnary(view.word(inner)) || unary.children.size() != 1) continue;
      if (!emit({{view.graph().class_of(enode), unary.children[0]}, {slice.op, unary.op}, {}})) {
        return false;
      }
    }
    return true;
  });
}

std::vector<Equation> UnaryAfterSlice(Terms& terms, const SiteMatch& match) {
  const OpWord& unary = terms.word(match.ops[1]);
  const ClassId slice = terms.Op("Slice", {match.classes[1]}, terms.word(match.ops[0]).attributes);
  return {{match.classes[0], terms.Op(unary.name, {slice}, unary.attributes)}};
}
}  // namespace

std::span<const SiteRow> ConcatUnaryRows() {
  static constexpr SiteRow kRows[] = {
      {"concat-of-unary", "Concat(f(x), f(y), ..) = f(Concat(x, y, ..))", "Concat",
       SearchConcatOfUnary, UnaryOutOfConcat},
      {"concat-of-normalization",
       "Concat(Softmax(x), Softmax(y), ..) = Softmax(Concat(x, y, ..)), along another axis; "
       "LayerNormalization alike",
       "Concat", SearchConcatOfNormalization, NormalizationOutOfConcat},
      {"unary-of-concat", "f(Concat(x, y, ..)) = Concat(f(x), f(y), ..)", "Concat",
       SearchUnaryOfConcat, UnaryIntoConcat},
      {"slices-of-unary", "f(Slice(x)), .. = Slices of f(x), all Slices that tile x", "Slice",
       SearchTiledUnary, UnaryBeforeTiles},
      {"slice-of-unary", "Slice(f(x)) = f(Slice(x))", "Slice", SearchSliceOfUnary, UnaryAfterSlice},
  };
  return kRows;
}

}  // namespace quotient::rules
