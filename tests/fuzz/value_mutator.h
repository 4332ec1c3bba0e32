#pragma once

// Changes to the values of fields (message_mutator.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"

namespace quotient::testing {

// One thread. Borrows the random numbers.
class ValueMutator {
 public:
  explicit ValueMutator(Rng* rng) : rng_(*rng) {}

  // Some of these may take the place of other texts.
  void set_texts(std::vector<std::string> texts) { texts_ = std::move(texts); }

  // A value near to the one that there is, or one that is often a limit.
  int64_t Number(int64_t now);
  double Double(double now);
  // Stays UTF-8 in most cases if it has to be.
  std::string Text(std::string now, bool is_utf8);

 private:
  size_t Below(size_t bound) { return static_cast<size_t>(rng_.Below(bound)); }

  Rng& rng_;
  std::vector<std::string> texts_;
};

}  // namespace quotient::testing
