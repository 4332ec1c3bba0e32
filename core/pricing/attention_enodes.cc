#include "core/pricing/attention_enodes.h"

#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "core/kernels/attention.h"

namespace quotient::pricing {
namespace {

using domain::OpWord;
using egraph::ClassId;
using egraph::ENodeId;

class Finder {
 public:
  explicit Finder(const domain::TensorEGraph& tensors)
      : graph_(*tensors.egraph), domain_(*tensors.domain) {}

  std::vector<AttentionENodes> Run(ENodeId weighted) {
    if (Name(weighted) != "MatMul") return {};
    ForEach(Child(weighted, 0), "Softmax", [&](ENodeId softmax) {
      if (!IsAlongRows(softmax)) return;
      AddScaled(Child(softmax, 0), {.softmax = softmax, .weighted = weighted});
      ForEach(Child(softmax, 0), "Add", [&](ENodeId sum) {
        for (const int running : {0, 1}) {
          AddScaled(Child(sum, running), {.sum = sum,
                                          .mask = 1 - running,
                                          .logits = sum,
                                          .softmax = softmax,
                                          .weighted = weighted});
        }
      });
    });
    return std::move(found_);
  }

 private:
  absl::string_view Name(ENodeId node) const {
    const OpWord& word = domain_.word(graph_.node(node).op);
    return word.sort == OpWord::Sort::kOperator ? absl::string_view(word.name) : "";
  }

  ClassId Child(ENodeId node, int index) const {
    return graph_.Find(graph_.node(node).children[index]);
  }

  void ForEach(ClassId cls, absl::string_view name, absl::FunctionRef<void(ENodeId)> visit) const {
    for (const ENodeId node : graph_.nodes(cls)) {
      if (Name(node) == name) visit(node);
    }
  }

  bool IsAlongRows(ENodeId softmax) const {
    const int64_t axis = domain_.word(graph_.node(softmax).op).attributes.GetInt("axis", -1);
    const model::TensorType& type = domain_.data(graph_, Child(softmax, 0)).measured;
    return kernels::IsLastAxis(axis, type.has_rank() ? type.rank() : 0);
  }

  std::optional<double> Number(ClassId cls) const {
    const domain::ClassData& data = domain_.data(graph_, cls);
    if (!data.constant || data.constant->elements() != 1) return std::nullopt;
    return data.constant->GetDouble(0);
  }

  // The first Transpose of a class; invalid if there is none.
  ENodeId TransposeIn(ClassId cls) const {
    ENodeId first;
    ForEach(cls, "Transpose", [&](ENodeId node) {
      if (!first.valid()) first = node;
    });
    return first;
  }

  // Adds the MatMuls of a class, and the MatMuls that its Muls and Divs scale by a constant number.
  void AddScaled(ClassId cls, const AttentionENodes& found) {
    AddScores(cls, found);
    for (const char* op : {"Mul", "Div"}) {
      ForEach(cls, op, [&](ENodeId scaled) {
        for (const int running : {0, 1}) {
          const std::optional<double> number = Number(Child(scaled, 1 - running));
          if (!number) continue;
          const std::optional<double> scale = kernels::AttentionScale(op, running, *number);
          if (!scale) continue;
          AttentionENodes with_scale = found;
          with_scale.scale = *scale;
          if (!with_scale.logits.valid()) with_scale.logits = scaled;
          AddScores(Child(scaled, running), with_scale);
        }
      });
    }
  }

  void AddScores(ClassId cls, const AttentionENodes& found) {
    ForEach(cls, "MatMul", [&](ENodeId scores) {
      AttentionENodes& whole = found_.emplace_back(found);
      whole.scores = scores;
      if (!whole.logits.valid()) whole.logits = scores;
      whole.transposes[0] = TransposeIn(Child(scores, 0));
      whole.transposes[1] = TransposeIn(Child(scores, 1));
      whole.transposes[2] = TransposeIn(Child(found.weighted, 1));
    });
  }

  const egraph::EGraph& graph_;
  const domain::TensorDomain& domain_;
  std::vector<AttentionENodes> found_;
};

}  // namespace

std::vector<AttentionENodes> FindAttentions(const domain::TensorEGraph& tensors, ENodeId weighted) {
  return Finder(tensors).Run(weighted);
}

}  // namespace quotient::pricing
