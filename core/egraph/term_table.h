#pragma once

// TermTable stores terms, each once. Unlike an e-node, whose children are classes, a term has terms
// as children. One thread may change it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/egraph/egraph.h"

namespace quotient::egraph {

using TermId = StrongId<struct TermIdTag>;

class TermTable {
 public:
  // Returns the term op(children), and adds it if it is new. The children are terms of this table.
  TermId Add(OpId op, std::span<const TermId> children);

  OpId op(TermId id) const { return rows_[id.value()].op; }
  // Valid until the next Add.
  std::span<const TermId> children(TermId id) const {
    const Row& row = rows_[id.value()];
    return std::span(children_).subspan(row.first_child, row.num_children);
  }
  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }

  // Prints "(+ x (f 0))"; what is deeper than `max_depth` becomes "..".
  std::string Text(TermId id, const OpTable& table, int max_depth = 100) const;

 private:
  struct Row {
    OpId op;
    uint32_t first_child;
    uint32_t num_children;
  };

  std::vector<Row> rows_;
  std::vector<TermId> children_;
  absl::flat_hash_map<std::vector<uint32_t>, TermId> known_;  // By operator word and children.
};

}  // namespace quotient::egraph
