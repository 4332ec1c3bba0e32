#include "core/egraph/term_table.h"

#include "absl/strings/str_cat.h"

namespace quotient::egraph {

TermId TermTable::Add(OpId op, std::span<const TermId> children) {
  std::vector<uint32_t> key = {op.value()};
  for (TermId child : children) key.push_back(child.value());
  const auto [at, fresh] = known_.try_emplace(std::move(key), TermId(size()));
  if (fresh) {
    // `children` may point into children_.
    const std::vector<TermId> copy(children.begin(), children.end());
    rows_.push_back(
        {op, static_cast<uint32_t>(children_.size()), static_cast<uint32_t>(copy.size())});
    children_.insert(children_.end(), copy.begin(), copy.end());
  }
  return at->second;
}

std::string TermTable::Text(TermId id, const OpTable& table, int max_depth) const {
  if (children(id).empty()) return table.Name(op(id));
  if (max_depth == 0) return "..";
  std::string text = absl::StrCat("(", table.Name(op(id)));
  for (TermId child : children(id)) {
    absl::StrAppend(&text, " ", Text(child, table, max_depth - 1));
  }
  return absl::StrCat(text, ")");
}

}  // namespace quotient::egraph
