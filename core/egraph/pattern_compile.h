#pragma once

// What the two halves of the rule compiler share: the names of variables.

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/pattern_text.h"

namespace quotient::egraph {

// Variables by name. A name has one sort: 'c', 'o' or 'l'.
class VariableNames {
 public:
  // Returns kNoIndex if the name is new. Fails if it has another sort.
  absl::StatusOr<uint32_t> Find(absl::string_view name, char sort) const;
  // The name must be new.
  uint32_t Define(absl::string_view name, char sort);
  // Returns 0 for an unknown name.
  char SortOf(absl::string_view name) const;
  uint32_t count(char sort) const;
  // Returns the number here of the variable that has number `index` in `from`.
  uint32_t Renumbered(const VariableNames& from, char sort, uint32_t index) const;

 private:
  absl::flat_hash_map<std::string, std::pair<char, uint32_t>> variables_;
};

// Compiles the arguments of a guard, which can be only variables and words.
absl::StatusOr<std::vector<Argument>> CompileGuardArguments(const std::vector<Term>& terms,
                                                            absl::string_view signature,
                                                            const VariableNames& names);

// Compiles the left sides (as terms to build), the lets and the right sides of `text` into
// `program`. `names` are the variables of the left side.
absl::Status CompileTerms(const RuleText& text, const Vocabulary& vocabulary, VariableNames names,
                          Program& program);

}  // namespace quotient::egraph
