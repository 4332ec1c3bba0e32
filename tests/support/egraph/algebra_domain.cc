#include "tests/support/egraph/algebra_domain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"

namespace quotient::testing {

using egraph::Binding;
using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::ENodeView;
using egraph::OpId;

Algebra MathAlgebra() {
  Algebra algebra;
  algebra.arities = {{"+", 2}, {"-", 2},  {"*", 2},    {"/", 2},   {"pow", 2}, {"d", 2},
                     {"i", 2}, {"ln", 1}, {"sqrt", 1}, {"sin", 1}, {"cos", 1}};
  algebra.parse_leaf = [](absl::string_view word) -> std::optional<double> {
    double value;
    if (!absl::SimpleAtod(word, &value)) return std::nullopt;
    return value;
  };
  algebra.print_leaf = [](double value) { return absl::StrFormat("%.17g", value + 0.0); };
  algebra.fold = [](absl::string_view word, std::span<const double> v) -> std::optional<double> {
    if (v.size() != 2) return std::nullopt;
    if (word == "+") return v[0] + v[1];
    if (word == "-") return v[0] - v[1];
    if (word == "*") return v[0] * v[1];
    if (word == "/" && v[1] != 0) return v[0] / v[1];
    return std::nullopt;
  };
  return algebra;
}

Algebra PropAlgebra() {
  Algebra algebra;
  algebra.arities = {{"~", 1}, {"&", 2}, {"|", 2}, {"->", 2}};
  algebra.parse_leaf = [](absl::string_view word) -> std::optional<double> {
    if (word == "true") return 1;
    if (word == "false") return 0;
    return std::nullopt;
  };
  algebra.print_leaf = [](double value) { return value != 0 ? "true" : "false"; };
  algebra.fold = [](absl::string_view word, std::span<const double> v) -> std::optional<double> {
    if (word == "~" && v.size() == 1) return 1 - v[0];
    if (v.size() != 2) return std::nullopt;
    if (word == "&") return std::min(v[0], v[1]);
    if (word == "|") return std::max(v[0], v[1]);
    if (word == "->") return std::max(1 - v[0], v[1]);
    return std::nullopt;
  };
  return algebra;
}

std::optional<double> AlgebraDomain::Fold(const EGraph& graph, OpId op,
                                          std::span<const ClassId> children) const {
  if (children.empty()) return algebra_.parse_leaf(table_.Name(op));
  absl::InlinedVector<double, 2> values;
  for (ClassId child : children) {
    const std::optional<double> value = known_[graph.Find(child).value()].value;
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  return algebra_.fold(table_.Name(op), values);
}

AlgebraDomain::Known AlgebraDomain::WhatItSays(const EGraph& graph, OpId op,
                                               std::span<const ClassId> children) const {
  const std::optional<double> value = Fold(graph, op, children);
  return {value, children.empty() && !value.has_value()};
}

absl::Status AlgebraDomain::Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                                 ClassId fresh) {
  known_.resize(fresh.value());
  known_.push_back(WhatItSays(graph, op, children));
  return absl::OkStatus();
}

absl::Status AlgebraDomain::Merge(const EGraph& /*graph*/, ClassId kept, ClassId absorbed) {
  const Known other = known_[absorbed.value()];
  if (known_[kept.value()].more_than(other)) changed_.push_back(absorbed);
  return Learn(kept, other);
}

absl::Status AlgebraDomain::Learn(ClassId id, const Known& other) {
  Known& known = known_[id.value()];
  if (known.value.has_value() && other.value.has_value() &&
      std::abs(*known.value - *other.value) > 1e-6 * (1 + std::abs(*known.value))) {
    return absl::InternalError(
        absl::StrFormat("contradiction: %g = %g", *known.value, *other.value));
  }
  if (!other.more_than(known)) return absl::OkStatus();
  changed_.push_back(id);
  log_.Save(id, known);
  if (!known.value.has_value()) known.value = other.value;
  known.symbol |= other.symbol;
  return absl::OkStatus();
}

std::vector<ClassId> AlgebraDomain::TakeChanged() { return std::exchange(changed_, {}); }

absl::Status AlgebraDomain::Update(const EGraph& graph, ENodeId node) {
  const ENodeView view = graph.node(node);
  return Learn(graph.class_of(node), WhatItSays(graph, view.op, view.children));
}

absl::Status AlgebraDomain::Modify(EGraph& graph, ClassId id) {
  const std::optional<double> value = known_[id.value()].value;
  if (!value.has_value()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(
      const ClassId leaf, graph.Add(table_.Op(algebra_.print_leaf(*value)), {}, egraph::kAnalysis));
  QUOTIENT_RETURN_IF_ERROR(graph.Union(id, leaf, egraph::kAnalysis).status());
  graph.PruneToLeaves(id);
  return absl::OkStatus();
}

egraph::Vocabulary AlgebraDomain::vocabulary() {
  egraph::Vocabulary vocabulary = SymbolVocabulary(table_);
  const auto guard = [&](absl::string_view name, absl::string_view signature, auto holds) {
    vocabulary.guards[name] = {std::string(signature),
                               [this, holds](const EGraph& graph, std::span<const Binding> a) {
                                 const ClassId first = graph.Find(a[0].id);
                                 return holds(known_[first.value()], first,
                                              graph.Find(a.back().id));
                               },
                               egraph::Guard::Otherwise::kNothing};
  };
  guard("nz", "c", [](const Known& a, ClassId, ClassId) { return a.value != 0.0; });
  guard("const", "c", [](const Known& a, ClassId, ClassId) { return a.value.has_value(); });
  guard("sym", "c", [](const Known& a, ClassId, ClassId) { return a.symbol; });
  guard("indep", "cc", [](const Known& a, ClassId first, ClassId second) {
    return first != second && (a.value.has_value() || a.symbol);
  });
  return vocabulary;
}

}  // namespace quotient::testing
