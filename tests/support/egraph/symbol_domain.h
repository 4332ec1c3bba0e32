#pragma once

// The e-graph's simplest domain: words are operators without meaning, all terms are fine. A word
// may have attributes, `pool[3]`: its kind is the name before them. Numbers are leaves like others.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern.h"

namespace quotient::testing {

class SymbolTable : public egraph::OpTable {
 public:
  egraph::KindId Kind(egraph::OpId op) const override { return words_[op.value()].kind; }
  egraph::KindId KindOfName(absl::string_view name) override;
  std::string Name(egraph::OpId op) const override { return words_[op.value()].name; }

  // The word `name` or `name[attributes]`, made if new.
  egraph::OpId Op(absl::string_view word);

 private:
  struct Word {
    std::string name;
    egraph::KindId kind;
  };
  std::vector<Word> words_;
  absl::flat_hash_map<std::string, egraph::OpId> op_by_name_;
  absl::flat_hash_map<std::string, egraph::KindId> kind_by_name_;
};

// Words of rule text are symbols; no guards or builders. `table` must outlive what uses it.
egraph::Vocabulary SymbolVocabulary(SymbolTable& table);

}  // namespace quotient::testing
