#pragma once

// Checker: compares any number of candidates with an original, at the dims used for measuring and
// at other dims, with several sets of inputs at each.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/binding_proposals.h"
#include "core/verify/bindings.h"
#include "core/verify/cut.h"
#include "core/verify/first_difference.h"
#include "core/verify/reference.h"

namespace quotient::verify {

// A model to check. Both graphs are borrowed.
struct Checked {
  const model::Graph* graph;  // As read: nothing was inferred or folded at other dims.
  const CutGraph* cut;        // At the dims used for measuring.
};

struct CheckSettings {
  int input_sets = 2;  // Number of input sets at the dims used for measuring.
  uint64_t seed = 0;
  int threads = 1;
  bool assume_finite_inputs = false;  // If set, none beyond 1e6 are drawn.
  // The candidate, if there is one only and it is known before. Its thresholds are drawn beside
  // those of the original, and the numbers in it are tried as sizes. Borrowed; may be null.
  const Checked* only_candidate = nullptr;
};

// Dims, other than those used for measuring, at which candidates are checked.
struct CheckedBinding {
  Shapes shapes;
  BindingKind kind = BindingKind::kFirst;
  int nodes = 0;  // Number of nodes that are evaluated.
  int cut = 0;    // Number of nodes that are cut out.
};

// One thread at a time. The arguments of Create must outlive the checker.
class Checker {
 public:
  // Evaluates the original. `measured` has the dims of every input that was bound for measuring.
  // Checking at the other bindings takes at most half as long as at the dims used for measuring. If
  // no dims are small enough for that, there is one binding, which replaces a set of inputs. Fails
  // as Reference::Create does at the dims used for measuring, and with CANCELLED or RUN_BUDGET.
  static absl::StatusOr<Checker> Create(const Checked& original, const Shapes& measured,
                                        const CheckSettings& settings, const StopCondition& stop);

  // Checks a candidate, first at the other bindings, which take less time. It does not pass either
  // if it does not accept dims that the original accepts. Fails with CANCELLED or RUN_BUDGET.
  absl::StatusOr<Verdict> Check(const Checked& candidate, const StopCondition& stop);

  // Finds the first value at which a candidate that did not pass parts from the original. `verdict`
  // is that of Check. Nullopt if no set of inputs shows the failure, or no value that both have by
  // name does. Fails as FindFirstDifference does.
  absl::StatusOr<std::optional<FirstDifference>> Locate(const Checked& candidate,
                                                        const Verdict& verdict,
                                                        const StopCondition& stop) const;

  const Reference& measured() const { return *measured_; }
  const std::vector<CheckedBinding>& bindings() const { return bindings_; }
  // A sentence that says why some kinds of bindings are missing, or why a binding replaced a set of
  // inputs. Empty if neither is the case.
  const std::string& note() const { return note_; }

 private:
  struct Bound {
    std::unique_ptr<CutGraph> cut;
    std::unique_ptr<Reference> reference;
  };
  class Builder;

  // The verdict at bindings_[index].
  absl::StatusOr<Verdict> CheckAt(size_t index, const Checked& candidate,
                                  const StopCondition& stop);

  int threads_ = 1;
  std::unique_ptr<Reference> measured_;
  std::vector<CheckedBinding> bindings_;
  std::vector<Bound> bound_;  // Parallel to bindings_.
  std::string note_;
};

}  // namespace quotient::verify
