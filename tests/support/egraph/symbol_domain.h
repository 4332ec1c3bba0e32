#pragma once

// The simplest domain of an e-graph: operators have no meaning, and all terms are valid. A word may
// have attributes, as in `pool[3]`; its kind is the name before them. Numbers are ordinary leaves.

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

  // The operator for the word `name` or `name[attributes]`, which is added if it is new.
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

// A vocabulary whose words are symbols, without guards and builders. `table` must outlive its
// users.
egraph::Vocabulary SymbolVocabulary(SymbolTable& table);

}  // namespace quotient::testing
