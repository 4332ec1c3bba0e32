#include "tests/support/egraph/term_workspace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"

namespace quotient::testing {

absl::StatusOr<std::unique_ptr<TermWorkspace>> TermWorkspace::Make(Algebra algebra,
                                                                   absl::string_view rules,
                                                                   absl::string_view source,
                                                                   absl::string_view term) {
  std::unique_ptr<TermWorkspace> made(new TermWorkspace(std::move(algebra)));
  const egraph::Vocabulary vocabulary = made->domain_.vocabulary();
  QUOTIENT_ASSIGN_OR_RETURN(made->rules_, egraph::CompileRules(rules, vocabulary, source));
  for (const auto& rule : made->rules_) made->pointers_.push_back(rule.get());
  QUOTIENT_ASSIGN_OR_RETURN(made->root_, egraph::AddTerm(made->graph_, term, vocabulary));
  QUOTIENT_RETURN_IF_ERROR(made->graph_.Rebuild());
  made->OnGraphGrown();
  return made;
}

void TermWorkspace::ForEachBest(const std::function<void(egraph::ClassId)>& visit) {
  seen_.assign(graph_.class_bound(), false);
  best_ = {graph_.Find(root_)};
  seen_[best_[0].value()] = true;
  for (size_t i = 0; i < best_.size(); ++i) {
    visit(best_[i]);
    for (const egraph::ClassId child : graph_.node(tree_.choice(best_[i])).children) {
      if (!seen_[child.value()]) best_.push_back(child);
      seen_[child.value()] = true;
    }
  }
}

std::string TermWorkspace::TermOf(egraph::ClassId id) const {
  const egraph::ENodeView node = graph_.node(tree_.choice(graph_.Find(id)));
  std::string text = domain_.word(node.op);
  if (node.children.empty()) return text;
  for (const egraph::ClassId child : node.children) absl::StrAppend(&text, " ", TermOf(child));
  return absl::StrCat("(", text, ")");
}

}  // namespace quotient::testing
