#pragma once

// Enumeration: all terms of a universe up to a size, and which of them have equal values in the
// field.
//
// Terms are made of representatives, the first terms with their values. What is left out follows
// from an equation between smaller terms by congruence: of f(g(x)) = h(x) one sees that k(f(g(x)))
// = k(h(x)), so only k(h(x)) is made. That also cuts what TASO calls pairs with a common subgraph
// or a common last operator. Zeros, such as x - x, are left out, because there are no constants to
// replace them by.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/generate/terms.h"
#include "core/prove/operation.h"

namespace quotient::generate {

// Values in the field for several random choices of the variables. One choice tells polynomials
// apart, but an extreme of two elements is either of them by chance. One thread.
class Values {
 public:
  // Borrows the terms, and uses the universe's small types.
  Values(const Terms* terms, uint64_t seed);
  // A hash of the values and their shape, from the values of the operands, which must be kept.
  // Nullopt if the term has no value.
  std::optional<uint64_t> Fingerprint(TermId id);
  // Whether the value of the operator that Fingerprint saw last is zero whatever the variables are.
  bool last_is_zero() const;
  // Keeps the values of that operator.
  void KeepLast();

 private:
  static constexpr int kChoices = 12;
  using Value = std::array<prove::FieldTensor, kChoices>;

  const Terms& terms_;
  std::vector<Value> kept_;
  std::vector<int> place_;  // By TermId: in kept_, or -1.
  TermId last_;
  Value last_value_;
  std::set<std::string> functions_;
};

class Enumeration {
 public:
  // Borrows the terms, which should be the variables alone.
  Enumeration(Terms* terms, uint64_t seed);

  using Pair = std::pair<TermId, TermId>;
  // Makes all terms with one operator more than the last time. Returns those with the value of an
  // earlier term, behind that one, in order. `keeps`: whether larger terms will be made. `progress`
  // is called after every thousand terms or so.
  std::vector<Pair> Grow(bool keeps, const std::function<void()>& progress = {});

  int64_t num_terms() const { return num_terms_; }  // Without variables.
  int64_t num_values() const { return static_cast<int64_t>(first_with_.size()); }

 private:
  void Combine(int op, std::vector<Pair>& pairs, bool keeps);
  void Consider(int op, std::span<const TermId> operands, std::vector<Pair>& pairs, bool keeps);
  // Calls visit(other) for the representatives which, together with representatives_[size][index],
  // consist of size_ - 1 operators; of two such terms only for one of them.
  template <typename Visit>
  void VisitPartners(int size, size_t index, const Visit& visit) const;
  int UnionSize(TermId a, TermId b) const;

  Terms& terms_;
  Values values_;
  int size_ = 0;
  int64_t num_terms_ = 0;
  std::function<void()> progress_;                    // Of the Grow that is running; may be empty.
  std::vector<std::vector<TermId>> representatives_;  // By size.
  absl::flat_hash_map<uint64_t, TermId> first_with_;
  std::vector<std::vector<TermId>>
      parts_;               // Of representatives, by TermId: operators only, sorted.
  std::vector<bool> seen_;  // By TermId.
};

}  // namespace quotient::generate
