#pragma once

// RecordedSearch: a search in miniature. A test applies matches of rules to the e-graph of a graph,
// which records them as it does in a search.

#include <cstdlib>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/journal/derive.h"
#include "core/journal/replay_egraph.h"
#include "core/model/graph.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/graphs.h"

namespace quotient::journal {

class RecordedSearch {
 public:
  static constexpr int kMaxOpset = 23;

  // By rules of this text (core/rules/README.md), or by all rules if there is none. Ends the
  // program if a text is wrong.
  explicit RecordedSearch(absl::string_view graph, const char* rules = nullptr)
      : graph_(rules::ParseStatic(graph)),
        family_{"of the test", rules, nullptr, nullptr},
        tensors_(domain::FromGraph(graph_, graph_).value()) {
    tensors_.domain->LimitConstants(settings().max_folded_bytes);
    rules_ = rules::BuildRules(tensors_.domain.get(), kMaxOpset, {}, settings().families).value();
  }

  ReplaySettings settings() const {
    ReplaySettings settings = {.max_opset = kMaxOpset, .max_folded_bytes = 1 << 20};
    if (family_.text != nullptr) settings.families = std::span(&family_, 1);
    return settings;
  }
  const model::Graph& graph() const { return graph_; }
  const domain::TensorEGraph& tensors() const { return tensors_; }
  const egraph::EGraph& egraph() const { return *tensors_.egraph; }
  // Nothing is chosen.
  Selected selected() const { return {tensors_, rules_.rules(), {}, {}}; }

  const egraph::Rule& rule(absl::string_view name) const { return *rules_.rules()[IndexOf(name)]; }
  std::vector<egraph::Match> MatchesOf(absl::string_view name) const {
    return rules::MatchesOf(tensors_, rule(name));
  }
  // Applies a match of a rule, or its only one. Returns whether the e-graph has changed.
  bool Apply(absl::string_view name, const egraph::Match& match) {
    const auto origin = static_cast<egraph::Origin>(IndexOf(name) + 1);
    const bool changed = rule(name).Apply(*tensors_.egraph, match, origin).value();
    if (!tensors_.egraph->Rebuild().ok()) std::abort();
    return changed;
  }
  bool Apply(absl::string_view name) {
    const std::vector<egraph::Match> matches = MatchesOf(name);
    if (matches.size() != 1) std::abort();
    return Apply(name, matches[0]);
  }

  // The e-node that came with the model and computes the value of this name.
  egraph::ENodeId ENodeOf(absl::string_view name) const {
    return egraph::ENodeId(
        tensors_.class_of_value[testing::MustFind(tensors_.original, name).value()].value());
  }

 private:
  size_t IndexOf(absl::string_view name) const {
    for (size_t i = 0; i < rules_.rules().size(); ++i) {
      if (rules_.rules()[i]->name() == name) return i;
    }
    std::abort();
  }

  const model::Graph graph_;
  const rules::Family family_;
  domain::TensorEGraph tensors_;
  rules::RuleSet rules_;
};

}  // namespace quotient::journal
