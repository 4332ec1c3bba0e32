// Moves additions, products and constants of Concats to where they can be merged into a
// contraction, or to where one of them does the work of several. "Match:" lists the classes and
// then the operator words of a match.

#include <algorithm>

#include "core/rules/concat_split.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

bool IsArithmetic(const OpWord& word) {
  return word.sort == OpWord::Sort::kOperator &&
         (word.name == "Add" || word.name == "Mul" || word.name == "Sub" || word.name == "Div");
}

// concat-of-binary: Concat(a + x, b + y, ..) = Concat(a, b, ..) + Concat(x, y, ..), if both
// operands of each sum have the same type. Match: root, a, x, b, y..; Concat, +.
void SearchConcatOfBinary(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    if (node.children.size() < 2) return true;
    for (const ENodeId first : view.graph().nodes(view.graph().Find(node.children[0]))) {
      if (!IsArithmetic(view.word(first))) continue;
      const OpWord& word = view.word(first);
      SiteMatch match{{view.graph().class_of(enode)}, {node.op, view.graph().node(first).op}, {}};
      for (const ClassId part : node.children) {
        const auto same = NodeOf(view, part, [&](const OpWord& other) { return &other == &word; });
        if (!same) break;
        const auto operands = view.graph().node(*same).children;
        if (!SameType(view.type(operands[0]), view.type(operands[1]))) break;
        match.classes.insert(match.classes.end(), operands.begin(), operands.end());
      }
      if (match.classes.size() == 2 * node.children.size() + 1 && !emit(std::move(match))) {
        return false;
      }
    }
    return true;
  });
}

std::vector<Equation> BinaryOutOfConcat(Terms& terms, const SiteMatch& match) {
  std::vector<ClassId> left;
  std::vector<ClassId> right;
  for (size_t i = 1; i + 1 < match.classes.size(); i += 2) {
    left.push_back(match.classes[i]);
    right.push_back(match.classes[i + 1]);
  }
  const AttributeMap& attributes = terms.word(match.ops[0]).attributes;
  const ClassId joined[] = {terms.Op("Concat", left, attributes),
                            terms.Op("Concat", right, attributes)};
  return {{match.classes[0], terms.Op(terms.word(match.ops[1]).name, joined)}};
}

// concat-constant: Concat(x, y, ..) + c = Concat(x + c1, y + c2, ..), where the constant c is
// sliced like the Concat, if its slice can be merged into some part, which is a contraction. Match:
// root, c, x, y..; Concat, +.
void SearchConcatConstant(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    const ClassId concat = view.graph().class_of(enode);
    if (!SomeCanTakeMore(view, node.children)) return true;
    bool more = true;
    ForEachNarrowParent(view, concat, [&](ENodeId parent) {
      const auto outer = view.graph().node(parent);
      const OpWord& word = view.word(parent);
      if (!IsOperator(word, "Add") && !IsOperator(word, "Mul")) return true;
      if (view.graph().Find(outer.children[0]) != concat) return true;
      const ClassId c = outer.children[1];
      if (!view.data(c).weight_only || !KeepsShape(view.type(concat), view.type(c))) return true;
      SiteMatch match{{view.graph().class_of(parent), c}, {node.op, outer.op}, {}};
      match.classes.insert(match.classes.end(), node.children.begin(), node.children.end());
      more = emit(std::move(match));
      return more;
    });
    return more;
  });
}

std::vector<Equation> ConstantIntoConcat(Terms& terms, const SiteMatch& match) {
  std::vector<ClassId> parts(match.classes.begin() + 2, match.classes.end());
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), terms.type(parts[0]));
  if (!ConcatType(terms, parts, axis)) return {};
  const int rank = terms.type(parts[0]).rank();
  int64_t position = 0;
  for (ClassId& part : parts) {
    const int64_t size = *NumberAt(terms.type(part), static_cast<int>(axis));
    const ClassId own =
        SlicedOperand(terms, {axis, position, position + size}, rank, match.classes[1]);
    part = terms.Op(terms.word(match.ops[1]).name, {part, own});
    position += size;
  }
  return {{match.classes[0], terms.Concat(parts, axis)}};
}

// concat-negated: Concat(-x, y, ..) c = Concat(x, y, ..) c', where c' is -c beside what was
// negated. Rotary embeddings multiply such a Concat by sines. Match: root, c, x, y..; Concat.
// Numbers: for each part whether it was negated.
void SearchNegatedParts(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    const ClassId concat = view.graph().class_of(enode);
    SiteMatch match{{concat, concat}, {node.op}, {}};
    for (const ClassId part : node.children) {
      const auto negated =
          NodeOf(view, part, [](const OpWord& word) { return IsOperator(word, "Neg"); });
      match.classes.push_back(negated ? view.graph().node(*negated).children[0] : part);
      match.numbers.push_back(negated.has_value());
    }
    if (std::ranges::count(match.numbers, 1) == 0) return true;
    bool more = true;
    ForEachNarrowParent(view, concat, [&](ENodeId parent) {
      const auto outer = view.graph().node(parent);
      if (!IsOperator(view.word(parent), "Mul") || outer.children[0] != concat) return true;
      const ClassId c = outer.children[1];
      if (!view.data(c).weight_only || !KeepsShape(view.type(concat), view.type(c))) return true;
      match.classes[0] = view.graph().class_of(parent);
      match.classes[1] = c;
      more = emit(match);
      return more;
    });
    return more;
  });
}

std::vector<Equation> NegateConstant(Terms& terms, const SiteMatch& match) {
  // The signs are a constant that is as long as the axis.
  constexpr int64_t kLongest = 1 << 16;
  const std::vector<ClassId> parts(match.classes.begin() + 2, match.classes.end());
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), terms.type(parts[0]));
  const auto type = ConcatType(terms, parts, axis);
  if (!type || !model::IsFloat(type->dtype)) return {};
  const auto length = NumberAt(*type, static_cast<int>(axis));
  if (!length || *length > kLongest) return {};
  std::vector<double> signs;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto size = static_cast<size_t>(*NumberAt(terms.type(parts[i]), static_cast<int>(axis)));
    signs.insert(signs.end(), size, match.numbers[i] != 0 ? -1 : 1);
  }
  Ints dims(static_cast<size_t>(type->rank() - axis), 1);
  dims[0] = *length;
  const ClassId c =
      terms.Op("Mul", {match.classes[1], terms.Constant(type->dtype, std::move(dims), signs)});
  return {{match.classes[0], terms.Op("Mul", {terms.Concat(parts, axis), c})}};
}
}  // namespace

std::span<const SiteRow> ConcatBinaryRows() {
  static constexpr SiteRow kRows[] = {
      {"concat-of-binary", "Concat(a + x, b + y, ..) = Concat(a, b, ..) + Concat(x, y, ..)",
       "Concat", SearchConcatOfBinary, BinaryOutOfConcat},
      {"concat-negated", "Concat(-x, y, ..) c = Concat(x, y, ..) c', c' = -c beside x", "Concat",
       SearchNegatedParts, NegateConstant},
      {"concat-constant", "Concat(x, y, ..) + c = Concat(x + c1, y + c2, ..)", "Concat",
       SearchConcatConstant, ConstantIntoConcat},
  };
  return kRows;
}

}  // namespace quotient::rules
