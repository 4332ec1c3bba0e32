#pragma once

// Checking: an original against any number of candidates, at the dimensions that it is measured
// with and at others, each with several sets of inputs.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/binding_proposals.h"
#include "core/verify/bindings.h"
#include "core/verify/cut.h"
#include "core/verify/reference.h"

namespace quotient::verify {

// A model as it is checked. All of it is borrowed.
struct Checked {
  const model::Graph* graph;  // as read: nothing was inferred or folded with other dims
  const CutGraph* cut;        // at the dims that it is measured with
};

struct CheckSettings {
  int input_sets = 2;  // at the dims of measuring
  uint64_t seed = 0;
  int threads = 1;
  bool assume_finite_inputs = false;  // no infinite input is drawn
};

// Other dims that candidates are checked at.
struct CheckedBinding {
  Shapes shapes;
  BindingKind kind = BindingKind::kFirst;
  int nodes = 0;  // that are evaluated
  int cut = 0;    // that are not
};

// One thread at a time. What it was created from must outlive it.
class Checker {
 public:
  // `measured`: the dims of every input that was bound for measuring. Evaluates the original. What
  // the bindings take is at most half of what checking at the dims of measuring takes, as far as
  // smaller dims can do that; where they cannot, one binding takes the place of a set of inputs.
  // Errors: of Reference::Create at the dims of measuring; CANCELLED and RUN_BUDGET.
  static absl::StatusOr<Checker> Create(const Checked& original, const Shapes& measured,
                                        const CheckSettings& settings, const StopCondition& stop);

  // At the other bindings first, which take less. Not passed also where the candidate does not take
  // dims that the original takes. Errors: CANCELLED and RUN_BUDGET.
  absl::StatusOr<Verdict> Check(const Checked& candidate, const StopCondition& stop);

  const Reference& measured() const { return *measured_; }
  const std::vector<CheckedBinding>& bindings() const { return bindings_; }
  // Why there are fewer bindings than the model has kinds of, or why one took the place of a set of
  // inputs; a sentence, or empty.
  const std::string& note() const { return note_; }

 private:
  struct Bound {
    std::unique_ptr<CutGraph> cut;
    std::unique_ptr<Reference> reference;
  };
  class Builder;

  int threads_ = 1;
  std::unique_ptr<Reference> measured_;
  std::vector<CheckedBinding> bindings_;
  std::vector<Bound> bound_;  // parallel to bindings_
  std::string note_;
};

}  // namespace quotient::verify
