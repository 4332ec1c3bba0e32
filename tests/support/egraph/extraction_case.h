#pragma once

// Extraction problems for tests, given as lists of e-nodes. Classes are numbered in advance, so
// that cycles can be expressed.

#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/extract/extract.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::testing {

struct CaseNode {
  size_t of;  // Number of its class.
  double cost;
  std::vector<size_t> children;
  egraph::Origin origin = egraph::kInputOrigin;
};

// Consumer and producer are given as indices of e-nodes.
struct CaseFusion {
  size_t consumer;
  size_t producer;
  double saving;
};

struct CaseSharedKernel {
  std::vector<size_t> members;
  double cost;
};

class ExtractionCase : public extract::CostFunction {
 public:
  // Even equal `nodes` become different e-nodes.
  ExtractionCase(size_t num_classes, const std::vector<CaseNode>& nodes,
                 const std::vector<size_t>& roots, const std::vector<CaseFusion>& fusions = {},
                 const std::vector<CaseSharedKernel>& shared_kernels = {});

  // Up to `max_classes` classes with one to three e-nodes each, with cycles, zero costs and shared
  // children.
  static ExtractionCase Random(Rng& rng, size_t max_classes);
  // The same with fusions of some e-nodes with their children.
  static ExtractionCase RandomWithFusions(Rng& rng, size_t max_classes);

  // The same with kernels that some e-nodes share.
  static ExtractionCase RandomWithSharedKernels(Rng& rng, size_t max_classes);

  // A long strip: `length` levels of `width` classes with three e-nodes each, which have one or two
  // children in the next level. About `num_back` in a hundred children are in the same level or the
  // one before instead, which makes cycles.
  static ExtractionCase RandomStrip(Rng& rng, size_t width, size_t length, uint64_t num_back = 0);

  extract::Problem problem() const { return {*graph_, *this, roots_}; }
  double Cost(egraph::ENodeId node) const override {
    return cost_by_op_[graph_->node(node).op.value()];
  }
  std::span<const extract::Fusion> Fusions() const override { return fusions_; }
  std::span<const extract::SharedKernel> SharedKernels() const override { return shared_kernels_; }
  egraph::ClassId id(size_t case_class) const { return graph_->Find(classes_[case_class]); }

 private:
  std::unique_ptr<SymbolTable> table_;
  std::unique_ptr<egraph::EGraph> graph_;
  std::vector<double> cost_by_op_;
  std::vector<egraph::ClassId> classes_;
  std::vector<egraph::ClassId> roots_;
  std::vector<extract::Fusion> fusions_;
  std::vector<extract::SharedKernel> shared_kernels_;
};

// The costs of the best acyclic selections, found by trying all. nullopt if there is no selection.
struct Optimum {
  double dag_cost;
  double tree_cost;
};
std::optional<Optimum> ExhaustiveOptimum(const extract::Problem& problem);

}  // namespace quotient::testing
