#include "core/generate/enumerate.h"

#include <algorithm>
#include <utility>

#include "core/base/rng.h"
#include "core/ops/op.h"
#include "core/prove/families.h"

namespace quotient::generate {
namespace {

// A hash that is the same in every run.
class Hasher {
 public:
  void Add(const prove::FieldTensor& value) {
    for (const int64_t dim : value.dims) Add(static_cast<uint64_t>(dim));
    for (const prove::Element element : value.elements) Add(element);
  }
  uint64_t hash() const { return hash_; }

 private:
  void Add(uint64_t word) { hash_ = Rng(hash_ ^ word).Next(); }
  uint64_t hash_ = 0;
};

}  // namespace

Values::Values(const Terms* terms, uint64_t seed) : terms_(*terms) {
  Rng rng(seed);
  for (const Variable& variable : terms_.universe().variables) {
    Value value;
    for (prove::FieldTensor& each : value) {
      each.dims = variable.dims;
      for (int64_t i = 0; i < prove::NumElements(variable.dims); ++i) {
        each.elements.push_back(rng.Below(prove::kPrime));
      }
    }
    place_.push_back(static_cast<int>(kept_.size()));
    kept_.push_back(std::move(value));
  }
}

std::optional<uint64_t> Values::Fingerprint(TermId id) {
  last_ = id;
  Hasher hasher;
  if (terms_.term(id).is_variable()) {
    for (const prove::FieldTensor& each : kept_[id.value()]) hasher.Add(each);
    return hasher.hash();
  }
  const Operator& op = terms_.op(id);
  for (int i = 0; i < kChoices; ++i) {
    std::vector<const prove::FieldTensor*> inputs;
    for (const TermId operand : terms_.operands(id)) {
      inputs.push_back(&kept_[place_[operand.value()]][i]);
    }
    absl::StatusOr<prove::FieldTensor> value =
        prove::Evaluate({op.name, op.attributes, inputs, terms_.dims(id), functions_});
    if (!value.ok()) return std::nullopt;
    last_value_[i] = *std::move(value);
    hasher.Add(last_value_[i]);
  }
  return hasher.hash();
}

bool Values::last_is_zero() const {
  return std::ranges::all_of(last_value_, [](const prove::FieldTensor& value) {
    return std::ranges::all_of(value.elements, [](prove::Element each) { return each == 0; });
  });
}

void Values::KeepLast() {
  place_.resize(std::max<size_t>(place_.size(), last_.value() + 1), -1);
  place_[last_.value()] = static_cast<int>(kept_.size());
  kept_.push_back(std::move(last_value_));
}

Enumeration::Enumeration(Terms* terms, uint64_t seed) : terms_(*terms), values_(terms, seed) {
  representatives_.emplace_back();
  for (uint32_t i = 0; i < terms_.size(); ++i) {
    representatives_[0].push_back(TermId(i));
    first_with_.emplace(*values_.Fingerprint(TermId(i)), TermId(i));
    parts_.emplace_back();
  }
}

std::vector<Enumeration::Pair> Enumeration::Grow(bool keeps,
                                                 const std::function<void()>& progress) {
  ++size_;
  progress_ = progress;
  representatives_.emplace_back();
  std::vector<Pair> pairs;
  for (size_t op = 0; op < terms_.universe().operators.size(); ++op) {
    Combine(static_cast<int>(op), pairs, keeps);
  }
  progress_ = {};
  return pairs;
}

void Enumeration::Combine(int op, std::vector<Pair>& pairs, bool keeps) {
  const Operator& word = terms_.universe().operators[op];
  if (word.num_operands == 1) {
    // The loop adds to another list than the one that it goes through.
    for (const TermId operand : representatives_[size_ - 1]) {
      Consider(op, std::span(&operand, 1), pairs, keeps);
    }
    return;
  }
  const bool commutative = ops::FindOp(word.name)->commutative;
  for (int size = 0; size < size_; ++size) {
    for (size_t i = 0; i < representatives_[size].size(); ++i) {
      const TermId first = representatives_[size][i];
      VisitPartners(size, i, [&](TermId second) {
        const TermId operands[] = {first, second};
        Consider(op, operands, pairs, keeps);
        if (commutative || first == second) return;
        const TermId exchanged[] = {second, first};
        Consider(op, exchanged, pairs, keeps);
      });
    }
  }
}

template <typename Visit>
void Enumeration::VisitPartners(int size, size_t index, const Visit& visit) const {
  const TermId first = representatives_[size][index];
  if (size == size_ - 1) {
    // The other one is a part of it, or a variable.
    for (const TermId part : parts_[first.value()]) visit(part);
    const std::vector<TermId>& variables = representatives_[0];
    const size_t begin = size == 0 ? index : 0;
    for (size_t i = begin; i < variables.size(); ++i) visit(variables[i]);
    return;
  }
  for (int other_size = std::max(size_ - 1 - size, 1); other_size <= size; ++other_size) {
    const std::vector<TermId>& others = representatives_[other_size];
    const size_t end = other_size == size ? index : others.size();
    for (size_t i = 0; i < end; ++i) {
      if (UnionSize(first, others[i]) == size_ - 1) visit(others[i]);
    }
  }
}

int Enumeration::UnionSize(TermId a, TermId b) const {
  const std::vector<TermId>& left = parts_[a.value()];
  const std::vector<TermId>& right = parts_[b.value()];
  int shared = 0;
  for (const TermId part : left) shared += std::ranges::binary_search(right, part) ? 1 : 0;
  return static_cast<int>(left.size() + right.size()) - shared;
}

void Enumeration::Consider(int op, std::span<const TermId> operands, std::vector<Pair>& pairs,
                           bool keeps) {
  const std::optional<TermId> id = terms_.Apply(op, operands);
  if (!id) return;
  seen_.resize(std::max<size_t>(seen_.size(), id->value() + 1), false);
  if (seen_[id->value()]) return;
  seen_[id->value()] = true;
  const std::optional<uint64_t> fingerprint = values_.Fingerprint(*id);
  if (!fingerprint || values_.last_is_zero()) return;
  ++num_terms_;
  constexpr int64_t kProgressStride = 1024;
  if (progress_ && num_terms_ % kProgressStride == 0) progress_();
  const auto [first, is_new] = first_with_.try_emplace(*fingerprint, *id);
  if (!is_new) {
    pairs.emplace_back(first->second, *id);
    return;
  }
  if (!keeps) return;
  values_.KeepLast();
  representatives_[size_].push_back(*id);
  parts_.resize(std::max<size_t>(parts_.size(), id->value() + 1));
  std::vector<TermId>& parts = parts_[id->value()];
  for (const TermId operand : operands) {
    parts.insert(parts.end(), parts_[operand.value()].begin(), parts_[operand.value()].end());
  }
  parts.push_back(*id);
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
}

}  // namespace quotient::generate
