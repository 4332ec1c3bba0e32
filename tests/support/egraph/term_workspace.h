#pragma once

// TermWorkspace: a term of the domain "math" or "prop" as a search sees it. The cost of a state is
// the size of the smallest tree that is equal to the term.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/extract/extract.h"
#include "core/search/strategy.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/incremental_tree.h"

namespace quotient::testing {

class TermWorkspace : public search::Workspace {
 public:
  // `source` is the name of the rules in errors.
  static absl::StatusOr<std::unique_ptr<TermWorkspace>> Make(Algebra algebra,
                                                             absl::string_view rules,
                                                             absl::string_view source,
                                                             absl::string_view term);

  egraph::EGraph& graph() override { return graph_; }
  std::span<const egraph::Rule* const> rules() const override { return pointers_; }
  void OnGraphGrown() override { tree_.Update(graph_); }
  double Cost(const StopCondition&) override { return tree_.cost(graph_.Find(root_)); }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override;
  void Mark() override { tree_.Mark(); }
  void Rollback() override { tree_.Rollback(graph_); }
  void Forget() override { tree_.Forget(); }

  // The smallest tree as a term, as of the last call of OnGraphGrown.
  std::string BestTerm() const { return TermOf(root_); }

 private:
  class Size : public extract::CostFunction {
   public:
    double Cost(egraph::ENodeId) const override { return 1; }
  };

  explicit TermWorkspace(Algebra algebra)
      : domain_(std::move(algebra)), graph_(&domain_.table(), &domain_), tree_(&size_) {
    graph_.KeepHash();
  }
  std::string TermOf(egraph::ClassId id) const;

  AlgebraDomain domain_;
  egraph::EGraph graph_;
  std::vector<std::unique_ptr<egraph::Rule>> rules_;
  std::vector<const egraph::Rule*> pointers_;
  egraph::ClassId root_;
  const Size size_;
  IncrementalTree tree_;
  std::vector<egraph::ClassId> best_;  // Scratch of ForEachBest.
  std::vector<bool> seen_;             // Scratch of ForEachBest, by ClassId.
};

}  // namespace quotient::testing
