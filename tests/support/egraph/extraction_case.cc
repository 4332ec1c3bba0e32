#include "tests/support/egraph/extraction_case.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"

namespace quotient::testing {

using egraph::ClassId;
using egraph::ENodeId;

ExtractionCase::ExtractionCase(size_t num_classes, const std::vector<CaseNode>& nodes,
                               const std::vector<size_t>& roots,
                               const std::vector<CaseFusion>& fusions,
                               const std::vector<CaseSharedKernel>& shared_kernels)
    : table_(std::make_unique<SymbolTable>()),
      graph_(std::make_unique<egraph::EGraph>(table_.get(), nullptr)) {
  // A leaf of infinite cost represents each class until its e-nodes are added.
  for (size_t i = 0; i < num_classes; ++i) {
    classes_.push_back(*graph_->Add(table_->Op(absl::StrCat("class", i)), {}));
    cost_by_op_.push_back(std::numeric_limits<double>::infinity());
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<ClassId> children;
    for (size_t child : nodes[i].children) children.push_back(classes_[child]);
    const ClassId id = *graph_->Add(table_->Op(absl::StrCat("node", i)), children, nodes[i].origin);
    cost_by_op_.push_back(nodes[i].cost);
    graph_->Union(classes_[nodes[i].of], id).IgnoreError();
  }
  graph_->Rebuild().IgnoreError();
  for (size_t root : roots) roots_.push_back(classes_[root]);
  std::vector<ENodeId> known(nodes.size());
  const auto enode = [&](size_t i) {
    if (known[i].valid()) return known[i];
    std::vector<ClassId> children;
    for (size_t child : nodes[i].children) children.push_back(classes_[child]);
    return known[i] = graph_->LookupNode(table_->Op(absl::StrCat("node", i)), children);
  };
  for (const CaseFusion& fusion : fusions) {
    fusions_.push_back({enode(fusion.consumer), enode(fusion.producer), fusion.saving});
  }
  for (const CaseSharedKernel& kernel : shared_kernels) {
    extract::SharedKernel& shared = shared_kernels_.emplace_back();
    for (const size_t member : kernel.members) shared.members.push_back(enode(member));
    shared.cost = kernel.cost;
  }
}

namespace {

struct Parts {
  size_t num_classes;
  std::vector<CaseNode> nodes;
  std::vector<size_t> roots;
};

Parts RandomParts(Rng& rng, size_t max_classes) {
  Parts parts;
  parts.num_classes = 2 + rng.Below(max_classes - 1);
  for (size_t i = 0; i < parts.num_classes; ++i) {
    for (uint64_t n = 1 + rng.Below(3); n > 0; --n) {
      CaseNode node = {i, static_cast<double>(rng.Below(8)), {}};
      // Most children have a smaller number, so that most cases have a solution.
      for (uint64_t c = rng.Below(4); c > 0; --c) {
        node.children.push_back(i > 0 && rng.Below(6) > 0 ? rng.Below(i)
                                                          : rng.Below(parts.num_classes));
      }
      parts.nodes.push_back(std::move(node));
    }
  }
  parts.roots = {parts.num_classes - 1};
  if (rng.Below(3) == 0) parts.roots.push_back(rng.Below(parts.num_classes));
  return parts;
}

}  // namespace

ExtractionCase ExtractionCase::Random(Rng& rng, size_t max_classes) {
  const Parts parts = RandomParts(rng, max_classes);
  return ExtractionCase(parts.num_classes, parts.nodes, parts.roots);
}

ExtractionCase ExtractionCase::RandomWithFusions(Rng& rng, size_t max_classes) {
  const Parts parts = RandomParts(rng, max_classes);
  std::vector<CaseFusion> fusions;
  for (size_t consumer = 0; consumer < parts.nodes.size(); ++consumer) {
    const std::vector<size_t>& children = parts.nodes[consumer].children;
    const std::set<size_t> classes(children.begin(), children.end());
    for (const size_t child : classes) {
      const double most = parts.nodes[consumer].cost;  // No saving exceeds it.
      for (size_t producer = 0; producer < parts.nodes.size(); ++producer) {
        if (parts.nodes[producer].of != child || rng.Below(3) > 0) continue;
        fusions.push_back({consumer, producer, most / static_cast<double>(1 + rng.Below(3))});
      }
    }
  }
  return ExtractionCase(parts.num_classes, parts.nodes, parts.roots, fusions);
}

ExtractionCase ExtractionCase::RandomWithSharedKernels(Rng& rng, size_t max_classes) {
  const Parts parts = RandomParts(rng, max_classes);
  std::vector<CaseSharedKernel> kernels(1 + rng.Below(2));
  std::vector<double> sum(kernels.size(), 0);
  for (size_t node = 0; node < parts.nodes.size(); ++node) {
    if (rng.Below(3) == 0) continue;
    const size_t kernel = rng.Below(kernels.size());
    kernels[kernel].members.push_back(node);
    sum[kernel] += parts.nodes[node].cost;
  }
  // The cost is between zero and a little more than that of all members together.
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels[i].cost = sum[i] * static_cast<double>(rng.Below(10)) / 8;
  }
  std::erase_if(kernels, [](const CaseSharedKernel& kernel) { return kernel.members.empty(); });
  return ExtractionCase(parts.num_classes, parts.nodes, parts.roots, {}, kernels);
}

ExtractionCase ExtractionCase::RandomStrip(Rng& rng, size_t width, size_t length,
                                           uint64_t num_back) {
  std::vector<CaseNode> nodes;
  for (size_t level = 0; level < length; ++level) {
    for (size_t i = 0; i < width; ++i) {
      const bool is_last = level + 1 == length;
      for (int n = 0; n < (is_last ? 1 : 3); ++n) {
        CaseNode node = {level * width + i, rng.NextDouble(), {}};
        for (uint64_t c = is_last ? 0 : 1 + rng.Below(2); c > 0; --c) {
          const bool back = level > 0 && rng.Below(100) < num_back;
          const size_t below = back ? level - rng.Below(2) : level + 1;
          node.children.push_back(below * width + rng.Below(width));
        }
        nodes.push_back(std::move(node));
      }
    }
  }
  return ExtractionCase(width * length, nodes, {0, width - 1});
}

namespace {

// Enumerates the choices for all classes that turn out to be needed.
class Enumeration {
 public:
  explicit Enumeration(const extract::Problem& problem) : problem_(problem) {
    std::vector<ClassId> needed;
    for (ClassId root : problem.roots) needed.push_back(problem.graph.Find(root));
    Choose(needed);
  }
  std::optional<Optimum> optimum;

 private:
  // Tries all choices for `open`, the needed classes without a choice.
  void Choose(std::vector<ClassId> open) {
    while (!open.empty() && choice_.contains(open.back())) open.pop_back();
    if (open.empty()) return Finish();
    const ClassId id = open.back();
    open.pop_back();
    for (ENodeId node : problem_.graph.nodes(id)) {
      if (problem_.cost.Cost(node) == std::numeric_limits<double>::infinity()) continue;
      choice_[id] = node;
      std::vector<ClassId> next = open;
      for (ClassId child : problem_.graph.node(node).children) next.push_back(child);
      Choose(std::move(next));
      choice_.erase(id);
    }
  }

  void Finish() {
    double tree = 0;
    for (ClassId root : std::set<ClassId>(problem_.roots.begin(), problem_.roots.end())) {
      const std::optional<double> cost = TreeCost(problem_.graph.Find(root), 0);
      if (!cost.has_value()) return;
      tree += *cost;
    }
    extract::Selection selection;
    selection.choice.resize(problem_.graph.class_bound());
    for (const auto& [id, node] : choice_) selection.choice[id.value()] = node;
    const double dag = *extract::CheckSelection(problem_, selection);
    if (!optimum.has_value()) optimum = {dag, tree};
    optimum->dag_cost = std::min(optimum->dag_cost, dag);
    optimum->tree_cost = std::min(optimum->tree_cost, tree);
  }

  // Returns nullopt on a cycle, which shows as a path longer than the number of classes.
  std::optional<double> TreeCost(ClassId id, size_t depth) {
    if (depth > choice_.size()) return std::nullopt;
    const ENodeId node = choice_.at(id);
    double sum = problem_.cost.Cost(node);
    for (ClassId child : problem_.graph.node(node).children) {
      const std::optional<double> cost = TreeCost(child, depth + 1);
      if (!cost.has_value()) return std::nullopt;
      sum += *cost;
    }
    return sum;
  }

  const extract::Problem& problem_;
  std::map<ClassId, ENodeId> choice_;
};

}  // namespace

std::optional<Optimum> ExhaustiveOptimum(const extract::Problem& problem) {
  return Enumeration(problem).optimum;
}

}  // namespace quotient::testing
