#pragma once

// Domains over symbols in which some classes have a known value: "math" (numbers; + - * / are
// folded) and "prop" (truth values; ~ & | -> are folded). A class with a known value gets the leaf
// of that value and keeps only leaves.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/egraph/class_log.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/rewriting_files.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::testing {

// Truth values are 0 and 1.
struct Algebra {
  Arities arities;  // Arities of all operators, including those that are not folded.
  std::function<std::optional<double>(absl::string_view word)> parse_leaf;
  std::function<std::string(double value)> print_leaf;
  // Returns nullopt if the operator is not folded.
  std::function<std::optional<double>(absl::string_view word, std::span<const double> values)> fold;
};
Algebra MathAlgebra();
Algebra PropAlgebra();

class AlgebraDomain : public egraph::Analysis {
 public:
  explicit AlgebraDomain(Algebra algebra) : algebra_(std::move(algebra)) {}

  absl::Status Make(const egraph::EGraph& graph, egraph::OpId op,
                    std::span<const egraph::ClassId> children, egraph::ClassId fresh) override;
  absl::Status Merge(const egraph::EGraph& graph, egraph::ClassId kept,
                     egraph::ClassId absorbed) override;
  std::vector<egraph::ClassId> TakeChanged() override;
  absl::Status Update(const egraph::EGraph& graph, egraph::ENodeId node) override;
  bool update_is_complete() const override { return true; }
  absl::Status Modify(egraph::EGraph& graph, egraph::ClassId id) override;
  void Mark() override { log_.Mark(); }
  void Rollback(const egraph::EGraph& graph) override {
    log_.Rollback(known_, graph.class_bound());
    changed_.clear();
  }
  void Forget() override { log_.Forget(); }

  SymbolTable& table() { return table_; }
  // Includes the guards of the rule files: nz, const, sym, indep.
  egraph::Vocabulary vocabulary();
  std::string word(egraph::OpId op) const { return table_.Name(op); }
  std::optional<double> value(egraph::ClassId canonical) const {
    return known_[canonical.value()].value;
  }

 private:
  struct Known {
    std::optional<double> value;
    bool symbol = false;  // Whether it has a leaf that is not a value.

    bool more_than(const Known& other) const {
      return value.has_value() > other.value.has_value() || symbol > other.symbol;
    }
  };
  Known WhatItSays(const egraph::EGraph& graph, egraph::OpId op,
                   std::span<const egraph::ClassId> children) const;
  std::optional<double> Fold(const egraph::EGraph& graph, egraph::OpId op,
                             std::span<const egraph::ClassId> children) const;
  absl::Status Learn(egraph::ClassId id, const Known& other);

  const Algebra algebra_;
  SymbolTable table_;
  std::vector<Known> known_;  // By ClassId.
  egraph::ClassLog<Known> log_;
  std::vector<egraph::ClassId> changed_;
};

}  // namespace quotient::testing
