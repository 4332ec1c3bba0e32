// Concats of MatMuls and Convs become one: of more rows if the weights are the same, of more groups
// if they are not. "Match:" lists the classes and then the operator words of a match.

#include <algorithm>
#include <set>

#include "core/rules/concat_split.h"
#include "core/rules/conv_window.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

using Children = std::vector<ClassId>;

// The operands of a MatMul or Conv of an activation, whose other operands are weights.
std::optional<Children> ReadContraction(const View& view, ENodeId enode) {
  const OpWord& word = view.word(enode);
  if (!IsOperator(word, "MatMul") && !IsOperator(word, "Conv")) return std::nullopt;
  const auto node = view.graph().node(enode);
  Children children;
  for (const ClassId child : node.children) children.push_back(view.graph().Find(child));
  const auto is_weight = [&](ClassId child) { return view.data(child).weight_only; };
  if (is_weight(children[0]) || !std::all_of(children.begin() + 1, children.end(), is_weight)) {
    return std::nullopt;
  }
  return children;
}

// The operands of the first contraction of that word in the class for which fits(operands) holds.
template <typename Fits>
std::optional<Children> FindContraction(const View& view, ClassId cls, OpId op, const Fits& fits) {
  for (const ENodeId enode : view.graph().nodes(view.graph().Find(cls))) {
    if (view.graph().node(enode).op != op) continue;
    auto operands = ReadContraction(view, enode);
    if (operands && fits(*operands)) return operands;
  }
  return std::nullopt;
}

// Calls found(Concat, operator word, operands of each part) for each Concat of contractions that
// have the same word, until it returns false. Of the e-nodes of a part, the first counts for which
// fits(operands of the first part, operands) holds.
template <typename Fits, typename Found>
void ForEachConcat(const View& view, std::span<const ENodeId> anchors, const Fits& fits,
                   const Found& found) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    if (node.children.size() < 2) return true;
    for (const ENodeId first : view.graph().nodes(view.graph().Find(node.children[0]))) {
      const auto operands = ReadContraction(view, first);
      if (!operands) continue;
      const OpId op = view.graph().node(first).op;
      std::vector<Children> parts;
      for (const ClassId part : node.children) {
        auto own = FindContraction(view, part, op,
                                   [&](const Children& other) { return fits(*operands, other); });
        if (!own) break;
        parts.push_back(*std::move(own));
      }
      if (parts.size() == node.children.size() && !found(enode, op, parts)) return false;
    }
    return true;
  });
}

// concat-of-rows: Concat(f(x, w), f(y, w), ..) = f(Concat(x, y, ..), w), along rows or the batch, f
// a MatMul or Conv. Match: root, f's operands but the first, x, y..; Concat, f.
void SearchConcatOfRows(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  const auto share = [](const Children& a, const Children& b) {
    return std::equal(a.begin() + 1, a.end(), b.begin() + 1, b.end());
  };
  ForEachConcat(view, anchors, share,
                [&](ENodeId enode, OpId op, const std::vector<Children>& parts) {
                  SiteMatch match{{view.graph().class_of(enode)},
                                  {view.graph().node(enode).op, op},
                                  {static_cast<int64_t>(parts[0].size()) - 1}};
                  match.classes.insert(match.classes.end(), parts[0].begin() + 1, parts[0].end());
                  for (const Children& part : parts) match.classes.push_back(part[0]);
                  return emit(std::move(match));
                });
}

std::vector<Equation> RowsOutOfConcat(Terms& terms, const SiteMatch& match) {
  const OpWord& word = terms.word(match.ops[1]);
  const auto shared = match.classes.begin() + 1;
  const auto first = shared + match.numbers[0];
  const Children inputs(first, match.classes.end());
  const TensorType& x = terms.type(inputs[0]);
  const TensorType& w = terms.type(*shared);
  if (!x.has_rank() || !w.has_rank()) return {};
  const int64_t axis = ConcatAxis(terms.word(match.ops[0]), x);
  // A MatMul by a matrix keeps all axes but the last. A Conv keeps the batch.
  const bool keeps = word.name == "MatMul" ? w.rank() == 2 && axis + 1 < x.rank() : axis == 0;
  if (axis < 0 || !keeps || !CanConcat(terms, inputs, axis)) return {};
  Children operands = {terms.Concat(inputs, axis)};
  operands.insert(operands.end(), shared, first);
  return {{match.classes[0], terms.Op(word.name, operands, word.attributes)}};
}

// concat-of-convs: Concat(Conv(x, a), Conv(y, b), ..) = Conv(Concat(x, y, ..), [a; b; ..]) with a
// group for each, along channels. Match: root, each Conv's operands in turn; Concat, Conv.
void SearchConcatOfConvs(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  const auto alike = [&](const Children& a, const Children& b) {
    return std::equal(
        a.begin() + 1, a.end(), b.begin() + 1, b.end(),
        [&](ClassId one, ClassId other) { return SameType(view.type(one), view.type(other)); });
  };
  ForEachConcat(view, anchors, alike,
                [&](ENodeId enode, OpId op, const std::vector<Children>& parts) {
                  // Convs of one input are merged without repeating it.
                  std::set<ClassId> inputs;
                  SiteMatch match{{view.graph().class_of(enode)},
                                  {view.graph().node(enode).op, op},
                                  {static_cast<int64_t>(parts[0].size())}};
                  for (const Children& part : parts) {
                    if (!inputs.insert(part[0]).second) return true;
                    match.classes.insert(match.classes.end(), part.begin(), part.end());
                  }
                  return emit(std::move(match));
                });
}

std::vector<Equation> ConvsOutOfConcat(Terms& terms, const SiteMatch& match) {
  const auto arity = static_cast<size_t>(match.numbers[0]);
  std::vector<Children> operands(arity);
  for (size_t i = 1; i < match.classes.size(); ++i) {
    operands[(i - 1) % arity].push_back(match.classes[i]);
  }
  const OpWord& word = terms.word(match.ops[1]);
  std::optional<Convolution> conv = ReadConvolution(word, terms.type(operands[1][0]));
  const TensorType& x = terms.type(operands[0][0]);
  // Each must have the same number of input channels, or groups would be cut elsewhere.
  const bool alike = std::ranges::all_of(operands[0], [&](ClassId other) {
    return NumberAt(terms.type(other), 1).has_value() &&
           NumberAt(terms.type(other), 1) == NumberAt(x, 1);
  });
  if (!conv || !alike || ConcatAxis(terms.word(match.ops[0]), x) != 1 ||
      !CanConcat(terms, operands[0], 1)) {
    return {};
  }
  conv->group *= static_cast<int64_t>(operands[0].size());
  std::optional<ClassId> bias;
  if (arity > 2) bias = terms.Concat(operands[2], 0);
  return {
      {match.classes[0], MakeConv(terms, ConvolutionAttributes(*conv), terms.Concat(operands[0], 1),
                                  terms.Concat(operands[1], 0), bias)}};
}

}  // namespace

std::span<const SiteRow> ConcatContractionRows() {
  static constexpr SiteRow kRows[] = {
      {"concat-of-rows", "Concat(f(x, w), f(y, w), ..) = f(Concat(x, y, ..), w), rows", "Concat",
       SearchConcatOfRows, RowsOutOfConcat},
      {"concat-of-convs",
       "Concat(Conv(x, a), Conv(y, b), ..) = Conv(Concat(x, y, ..), [a; b; ..]), groups", "Concat",
       SearchConcatOfConvs, ConvsOutOfConcat},
  };
  return kRows;
}

}  // namespace quotient::rules
