#pragma once

// Shared by the two halves of the rule compiler: which variables there are.

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

// Variables by name; one name has one sort, 'c', 'o' or 'l'.
class VariableNames {
 public:
  // kNoIndex if the name is new. An error if it has another sort.
  absl::StatusOr<uint32_t> Find(absl::string_view name, char sort) const;
  // The name must be new.
  uint32_t Define(absl::string_view name, char sort);
  // 0 for an unknown name.
  char SortOf(absl::string_view name) const;
  uint32_t count(char sort) const;
  // The number here of a variable whose number there is `index`.
  uint32_t Renumbered(const VariableNames& from, char sort, uint32_t index) const;

 private:
  absl::flat_hash_map<std::string, std::pair<char, uint32_t>> variables_;
};

// Arguments of a guard against its signature: variables and words only.
absl::StatusOr<std::vector<Argument>> CompileGuardArguments(const std::vector<Term>& terms,
                                                            absl::string_view signature,
                                                            const VariableNames& names);

// The left sides as terms to build, the lets and the right sides of `text` into `program`; `names`
// are the variables of the left side.
absl::Status CompileTerms(const RuleText& text, const Vocabulary& vocabulary, VariableNames names,
                          Program& program);

}  // namespace quotient::egraph
