#include "tests/support/egraph/algebra_domain.h"

#include <algorithm>
#include <cmath>
#include <utility>

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
  std::vector<double> values;
  for (ClassId child : children) {
    const std::optional<double> value = values_[graph.Find(child).value()];
    if (!value.has_value()) return std::nullopt;
    values.push_back(*value);
  }
  return algebra_.fold(table_.Name(op), values);
}

absl::Status AlgebraDomain::Make(const EGraph& graph, OpId op, std::span<const ClassId> children,
                                 ClassId fresh) {
  values_.resize(fresh.value());
  values_.push_back(Fold(graph, op, children));
  return absl::OkStatus();
}

absl::Status AlgebraDomain::Merge(const EGraph& /*graph*/, ClassId kept, ClassId absorbed) {
  std::optional<double>& value = values_[kept.value()];
  const std::optional<double> other = values_[absorbed.value()];
  if (value.has_value() && other.has_value() &&
      std::abs(*value - *other) > 1e-6 * (1 + std::abs(*value))) {
    return absl::InternalError(absl::StrFormat("contradiction: %g = %g", *value, *other));
  }
  // What was not known of one of them is now known to its users.
  if (value.has_value() != other.has_value()) changed_.push_back(kept);
  if (!value.has_value()) {
    log_.Save(kept, value);
    value = other;
  }
  return absl::OkStatus();
}

std::vector<ClassId> AlgebraDomain::TakeChanged() { return std::exchange(changed_, {}); }

absl::Status AlgebraDomain::Update(const EGraph& graph, ENodeId node) {
  const ClassId id = graph.class_of(node);
  if (values_[id.value()].has_value()) return absl::OkStatus();
  log_.Save(id, std::nullopt);
  values_[id.value()] = Fold(graph, graph.node(node).op, graph.node(node).children);
  if (values_[id.value()].has_value()) changed_.push_back(id);
  return absl::OkStatus();
}

absl::Status AlgebraDomain::Modify(EGraph& graph, ClassId id) {
  const std::optional<double> value = values_[id.value()];
  if (!value.has_value()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const ClassId leaf,
                            graph.Add(table_.Op(algebra_.print_leaf(*value)), {}));
  QUOTIENT_RETURN_IF_ERROR(graph.Union(id, leaf).status());
  graph.PruneToLeaves(id);
  return absl::OkStatus();
}

bool AlgebraDomain::IsSymbol(const EGraph& graph, ClassId id) const {
  return std::ranges::any_of(graph.nodes(id), [&](ENodeId node) {
    const ENodeView view = graph.node(node);
    return view.children.empty() && !algebra_.parse_leaf(table_.Name(view.op)).has_value();
  });
}

egraph::Vocabulary AlgebraDomain::vocabulary() {
  egraph::Vocabulary vocabulary = SymbolVocabulary(table_);
  const auto known = [this](const EGraph& graph, ClassId id) {
    return values_[graph.Find(id).value()];
  };
  vocabulary.guards["nz"] = {"c", [known](const EGraph& graph, std::span<const Binding> a) {
                               return known(graph, a[0].id) != 0.0;
                             }};
  vocabulary.guards["const"] = {"c", [known](const EGraph& graph, std::span<const Binding> a) {
                                  return known(graph, a[0].id).has_value();
                                }};
  vocabulary.guards["sym"] = {"c", [this](const EGraph& graph, std::span<const Binding> a) {
                                return IsSymbol(graph, a[0].id);
                              }};
  vocabulary.guards["indep"] = {
      "cc", [this, known](const EGraph& graph, std::span<const Binding> a) {
        return graph.Find(a[0].id) != graph.Find(a[1].id) &&
               (known(graph, a[0].id).has_value() || IsSymbol(graph, a[0].id));
      }};
  return vocabulary;
}

}  // namespace quotient::testing
