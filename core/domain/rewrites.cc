// The journal of a choice: which rules it uses, where, and what they changed.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/domain/selection.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/explain.h"

namespace quotient::domain {
namespace {

// Deeper terms are cut off in the journal.
constexpr int kMaxDepth = 4;

class Journal {
 public:
  Journal(const TensorEGraph& tensors, std::span<const ENodeId> choice)
      : tensors_(tensors),
        graph_(*tensors.egraph),
        choice_(choice),
        outputs_(tensors.original.outputs.begin(), tensors.original.outputs.end()),
        explainer_(graph_, {}) {
    const auto order = ChosenClasses(tensors, choice);
    if (!order.ok()) return;  // ToGraph reports the error.
    order_ = *order;
    sites_ = SitesOf(tensors, choice, order_);
    NameClasses();
  }

  std::vector<Rewrite> Run() {
    // Visits consumers first: an e-node that the same rule made for a consumer is reported there.
    absl::flat_hash_map<ClassId, size_t> told;  // By class: the index of its rewrite.
    std::vector<Rewrite> rewrites;
    for (size_t i = order_.size(); i-- > 0;) {
      const ClassId cls = order_[i];
      const ENodeId enode = choice_[cls.value()];
      if (!IsNew(enode)) {
        TellVanished(cls, rewrites);
        continue;
      }
      const auto [at, is_first] = told.try_emplace(cls, rewrites.size());
      const size_t index = at->second;
      if (is_first) rewrites.push_back(Describe(cls, enode));
      const egraph::Origin origin = graph_.origin(enode);
      for (const ClassId id : graph_.node(enode).children) {
        const ClassId child = graph_.Find(id);
        const ENodeId made = choice_[child.value()];
        const bool folds = tensors_.domain->data(graph_, child).weight_only;
        if (!IsNew(made) || (!folds && graph_.origin(made) != origin)) continue;
        if (told.try_emplace(child, index).second) rewrites[index].classes.push_back(child);
      }
    }
    return {rewrites.rbegin(), rewrites.rend()};
  }

 private:
  bool IsNew(ENodeId enode) const {
    return graph_.origin(enode) != egraph::kInputOrigin &&
           tensors_.domain->word(graph_.node(enode).op).sort == OpWord::Sort::kOperator;
  }

  void NameClasses() {
    names_.resize(graph_.class_bound());
    values_.resize(graph_.class_bound());
    chosen_terms_.resize(graph_.class_bound());
    for (uint32_t i = 0; i < tensors_.class_of_value.size(); ++i) {
      const ClassId cls = tensors_.class_of_value[i];
      if (!cls.valid()) continue;
      values_[graph_.Find(cls).value()].push_back(model::ValueId(i));
      std::string& name = names_[graph_.Find(cls).value()];
      if (name.empty()) name = tensors_.original.values[i].name;
    }
  }

  // Reports the nodes that vanished because their values equal another value of the original in the
  // same class, which is still computed as before.
  void TellVanished(ClassId cls, std::vector<Rewrite>& rewrites) const {
    const model::ValueId kept = KeptValue(cls);
    if (!kept.valid()) return;
    const std::vector<model::ValueId>& values = values_[cls.value()];
    for (size_t i = values.size(); i-- > 0;) {
      const ClassId was = tensors_.class_of_value[values[i].value()];
      const ClassId stays = tensors_.class_of_value[kept.value()];
      const model::NodeId site = tensors_.original.value(values[i]).producer;
      // Equal nodes have been one e-node from the beginning. An output that equals another value
      // still gets its name from an Identity.
      if (was == stays || !site.valid() || IsNamingOutput(values[i])) continue;
      const egraph::TermId from = explainer_.TermOf(was), to = explainer_.TermOf(stays);
      if (!explainer_.Equal(from, to)) continue;
      const auto step = explainer_.FirstWholeStep(from, to);
      // If its operands became equal, or it became equal to another original value first, that is
      // reported there.
      if (!step.has_value() || !IsRule(step->origin)) continue;
      if (step->before != from && IsOriginal(cls, step->before)) continue;
      rewrites.push_back({.origin = step->origin,
                          .classes = {cls},
                          .site = SiteName(tensors_, site),
                          .before = NodeText(tensors_.original.node(site)),
                          .after = tensors_.original.value(kept).name,
                          .steps = OriginsOf(explainer_.Explain(from, to))});
    }
  }

  // Whether `term` is the term of one of the original's values in the class.
  bool IsOriginal(ClassId cls, egraph::TermId term) const {
    return std::ranges::any_of(values_[cls.value()], [&](model::ValueId value) {
      return explainer_.TermOf(tensors_.class_of_value[value.value()]) == term;
    });
  }

  // The original's value that the chosen e-node computes, if it is an e-node of the original.
  model::ValueId KeptValue(ClassId cls) const {
    const OriginalRef ref = tensors_.Original(choice_[cls.value()]);
    if (ref.node.valid()) return tensors_.original.node(ref.node).outputs[ref.output];
    for (const model::ValueId value : values_[cls.value()]) {
      if (!tensors_.original.value(value).producer.valid()) return value;
    }
    return model::ValueId();
  }

  bool IsNamingOutput(model::ValueId value) const {
    const model::Graph& original = tensors_.original;
    return original.node(original.value(value).producer).op == "Identity" &&
           outputs_.contains(value);
  }

  Rewrite Describe(ClassId cls, ENodeId enode) {
    const model::NodeId site = sites_[cls.value()];
    Rewrite rewrite{.origin = graph_.origin(enode),
                    .classes = {cls},
                    .site = SiteName(tensors_, site),
                    .before = site.valid() ? NodeText(tensors_.original.node(site)) : "",
                    .after = Term(cls, graph_.origin(enode), kMaxDepth)};
    if (!values_[cls.value()].empty()) {
      rewrite.steps = OriginsOf(Steps(ClassOfFirstValue(cls), ChosenTerm(cls)));
    }
    return rewrite;
  }

  // The class that the first of the class's original values was read into. There must be one.
  ClassId ClassOfFirstValue(ClassId cls) const {
    return tensors_.class_of_value[values_[cls.value()].front().value()];
  }

  // The term chosen for a class, over values of the original.
  egraph::TermId ChosenTerm(ClassId cls) {
    std::optional<egraph::TermId>& known = chosen_terms_[cls.value()];
    if (known.has_value()) return *known;
    const egraph::ENodeView node = graph_.node(choice_[cls.value()]);
    std::vector<egraph::TermId> children;
    for (const ClassId id : node.children) {
      const ClassId child = graph_.Find(id);
      children.push_back(values_[child.value()].empty()
                             ? ChosenTerm(child)
                             : explainer_.TermOf(ClassOfFirstValue(child)));
    }
    return *(known = explainer_.Add(node.op, children));
  }

  std::vector<egraph::RewriteStep> Steps(ClassId original, egraph::TermId to) const {
    const egraph::TermId from = explainer_.TermOf(original);
    if (!explainer_.Equal(from, to)) return {};
    return explainer_.Explain(from, to);
  }

  static bool IsRule(egraph::Origin origin) {
    return origin != egraph::kInputOrigin && origin != egraph::kAnalysis;
  }

  static std::vector<egraph::Origin> OriginsOf(const std::vector<egraph::RewriteStep>& steps) {
    std::vector<egraph::Origin> origins;
    for (const egraph::RewriteStep& step : steps) {
      if (IsRule(step.origin)) origins.push_back(step.origin);
    }
    return origins;
  }

  std::string NodeText(const model::Node& node) const {
    const std::string inputs =
        absl::StrJoin(node.inputs, ", ", [this](std::string* out, model::ValueId input) {
          absl::StrAppend(out, input.valid() ? tensors_.original.value(input).name : "_");
        });
    return absl::StrCat(node.op, ToString(node.attributes), "(", inputs, ")");
  }

  // The text of the term chosen for a class. Expands only what `origin` or folding made.
  std::string Term(ClassId cls, egraph::Origin origin, int depth) const {
    const ENodeId enode = choice_[cls.value()];
    const OpWord& word = tensors_.domain->word(graph_.node(enode).op);
    if (word.sort == OpWord::Sort::kAbsent) return "_";
    if (word.sort == OpWord::Sort::kConstant) return ConstantText(cls, *word.constant);
    const bool folds = tensors_.domain->data(graph_, cls).weight_only;
    const bool expand = IsNew(enode) && (graph_.origin(enode) == origin || folds);
    const std::string& name = names_[cls.value()];
    if (!expand && !name.empty()) return name;
    if (depth == 0) return "..";
    const std::string inputs =
        absl::StrJoin(graph_.node(enode).children, ", ", [&](std::string* out, ClassId child) {
          absl::StrAppend(out, Term(graph_.Find(child), origin, depth - 1));
        });
    return absl::StrCat(word.name, ToString(word.attributes), "(", inputs, ")");
  }

  std::string ConstantText(ClassId cls, const model::Tensor& tensor) const {
    if (tensor.elements() == 1 && model::IsComputable(tensor.dtype())) {
      return absl::StrCat(tensor.GetDouble(0));
    }
    const std::string& name = names_[cls.value()];
    return name.empty() ? ToString(tensor.type()) : name;
  }

  const TensorEGraph& tensors_;
  const EGraph& graph_;
  const std::span<const ENodeId> choice_;
  const absl::flat_hash_set<model::ValueId> outputs_;  // Outputs of the original.
  egraph::Explainer explainer_;
  std::vector<std::optional<egraph::TermId>> chosen_terms_;  // By ClassId.
  std::vector<ClassId> order_;
  std::vector<model::NodeId> sites_;                 // By ClassId.
  std::vector<std::vector<model::ValueId>> values_;  // By ClassId: the original's values in it.
  std::vector<std::string> names_;                   // By ClassId: the name of the first, or empty.
};

}  // namespace

std::vector<Rewrite> RewritesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice) {
  return Journal(tensors, choice).Run();
}

}  // namespace quotient::domain
