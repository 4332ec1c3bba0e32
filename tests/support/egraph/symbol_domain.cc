#include "tests/support/egraph/symbol_domain.h"

#include "absl/strings/str_cat.h"

namespace quotient::testing {

egraph::KindId SymbolTable::KindOfName(absl::string_view name) {
  const egraph::KindId next(static_cast<uint32_t>(kind_by_name_.size()));
  return kind_by_name_.try_emplace(std::string(name), next).first->second;
}

egraph::OpId SymbolTable::Op(absl::string_view word) {
  const egraph::OpId next(static_cast<uint32_t>(words_.size()));
  const auto [entry, is_new] = op_by_name_.try_emplace(std::string(word), next);
  if (is_new) words_.push_back({std::string(word), KindOfName(word.substr(0, word.find('[')))});
  return entry->second;
}

egraph::Vocabulary SymbolVocabulary(SymbolTable& table) {
  egraph::Vocabulary vocabulary;
  vocabulary.kind = [&table](absl::string_view name) { return table.KindOfName(name); };
  vocabulary.op = [&table](absl::string_view name,
                           absl::string_view attributes) -> absl::StatusOr<egraph::OpId> {
    if (attributes.empty()) return table.Op(name);
    return table.Op(absl::StrCat(name, "[", attributes, "]"));
  };
  return vocabulary;
}

}  // namespace quotient::testing
