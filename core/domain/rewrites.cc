// The journal of a choice: which rules it uses, where, and what they changed.

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/domain/selection.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::domain {
namespace {

// Terms in the journal are cut off below this depth.
constexpr int kMaxDepth = 4;

class Journal {
 public:
  Journal(const TensorEGraph& tensors, std::span<const ENodeId> choice)
      : tensors_(tensors), graph_(*tensors.egraph), choice_(choice) {
    const auto order = ChosenClasses(tensors, choice);
    if (!order.ok()) return;  // ToGraph says what is wrong
    order_ = *order;
    sites_ = SitesOf(tensors, choice, order_);
    NameClasses();
  }

  std::vector<Rewrite> Run() {
    // Consumers first: an e-node that a consumer of the same rule made is told there.
    absl::flat_hash_set<ClassId> told;
    std::vector<Rewrite> rewrites;
    for (size_t i = order_.size(); i-- > 0;) {
      const ClassId cls = order_[i];
      const ENodeId enode = choice_[cls.value()];
      if (!IsNew(enode)) continue;
      const egraph::Origin origin = graph_.origin(enode);
      for (const ClassId child : graph_.node(enode).children) {
        const ENodeId made = choice_[graph_.Find(child).value()];
        const bool folds = tensors_.domain->data(graph_, child).weight_only;
        if (IsNew(made) && (folds || graph_.origin(made) == origin))
          told.insert(graph_.Find(child));
      }
      if (told.contains(cls)) continue;
      rewrites.push_back(Describe(cls, enode));
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
    for (size_t i = 0; i < tensors_.class_of_value.size(); ++i) {
      const ClassId cls = tensors_.class_of_value[i];
      if (!cls.valid()) continue;
      std::string& name = names_[graph_.Find(cls).value()];
      if (name.empty()) name = tensors_.original.values[i].name;
    }
  }

  Rewrite Describe(ClassId cls, ENodeId enode) const {
    const model::NodeId site = sites_[cls.value()];
    return Rewrite{.origin = graph_.origin(enode),
                   .cls = cls,
                   .site = SiteName(tensors_, site),
                   .before = site.valid() ? NodeText(tensors_.original.node(site)) : "",
                   .after = Term(cls, graph_.origin(enode), kMaxDepth)};
  }

  std::string NodeText(const model::Node& node) const {
    const std::string inputs =
        absl::StrJoin(node.inputs, ", ", [this](std::string* out, model::ValueId input) {
          absl::StrAppend(out, input.valid() ? tensors_.original.value(input).name : "_");
        });
    return absl::StrCat(node.op, ToString(node.attributes), "(", inputs, ")");
  }

  // The term chosen for a class, as far as `origin` or folding made it.
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
  std::vector<ClassId> order_;
  std::vector<model::NodeId> sites_;  // by ClassId
  std::vector<std::string> names_;    // by ClassId: an original value, or empty
};

}  // namespace

std::vector<Rewrite> RewritesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice) {
  return Journal(tensors, choice).Run();
}

}  // namespace quotient::domain
