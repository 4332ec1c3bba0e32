#pragma once

// InputSets: sets of inputs on which an original was evaluated, and how far rounding alone moves
// its outputs on them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/eval/evaluator.h"
#include "core/model/tensor.h"
#include "core/verify/compare.h"
#include "core/verify/cut.h"
#include "core/verify/random_inputs.h"

namespace quotient::verify {

struct InputSet {
  std::span<const Draw> draws;  // Draws of its kind, wider ones first.
  size_t drawn = 0;             // Index of the draw that was used.
  uint64_t seed = 0;
  Turn turn;
  bool was_narrowed = false;  // Whether a narrower set was drawn to resolve its doubts.
  std::vector<model::Tensor> inputs;
  std::vector<model::Tensor> outputs;
  // --- Effect of rounding on the outputs, measured when a candidate differs
  int noisy_evaluations = 0;
  std::vector<std::vector<float>> deviations;  // By output and element.
  std::vector<bool> overflowed;                // By output (RoundingNoise).

  // What is known of an output's rounding after a noisy evaluation.
  Conditioning ConditioningOf(size_t output) const {
    return {deviations[output], overflowed[output]};
  }
};

// One thread at a time. Borrows the original.
class InputSets {
 public:
  // `further` are thresholds beside those of the original.
  InputSets(const CutGraph* original, Thresholds further)
      : original_(original), further_(std::move(further)) {}

  // Draws a set by the first of `draws` with which the original can be evaluated and its outputs
  // are mostly finite; if there is none, by the one whose outputs are finite most. Fails with the
  // evaluator's error if none can be evaluated, and with CANCELLED or RUN_BUDGET.
  absl::Status Add(std::span<const Draw> draws, uint64_t seed, const Turn& turn, int threads,
                   const StopCondition& stop);
  // Adds a set that is drawn like set `index`, but by the next draw, which is narrower. Adds
  // nothing if there is none. Fails as Add does.
  absl::Status Narrow(size_t index, int threads, const StopCondition& stop);
  // Evaluates set `index` with rounding noise, until that was done `times` times in all.
  absl::Status MeasureNoise(size_t index, int times, int threads, const StopCondition& stop);

  size_t size() const { return sets_.size(); }
  const InputSet& at(size_t index) const { return sets_[index]; }
  // "set 1 (values in [-1, 1])".
  std::string Name(size_t index) const;
  // Whether an output has a finite element in some set, so that comparing is meaningful.
  bool TellSomething() const;

 private:
  // Adds a set with the draws, seed and turn of `wanted`, by the first of draws[drawn..] that will
  // do.
  absl::Status AddFrom(const InputSet& wanted, int threads, const StopCondition& stop);

  const CutGraph* original_;
  Thresholds further_;
  std::vector<InputSet> sets_;
};

// Evaluates all outputs of a graph. `hook` may change what each node computes.
absl::StatusOr<std::vector<model::Tensor>> EvaluateOutputs(const CutGraph& cut,
                                                           const std::vector<model::Tensor>& inputs,
                                                           int threads, const StopCondition& stop,
                                                           const eval::NodeHook& hook = nullptr);

}  // namespace quotient::verify
