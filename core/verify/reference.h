#pragma once

// The reference side of checking at one binding of a model's dimensions: the original's outputs on
// several sets of inputs, computed once and compared with any number of candidates.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/compare.h"
#include "core/verify/cut.h"
#include "core/verify/random_inputs.h"

namespace quotient::verify {

struct Verdict {
  bool passed = false;
  // Of elements that were judged (Difference::relative_error).
  double max_relative_error = 0;
  double tolerance = 0;
  int inputs = 0;  // input sets compared
  // Keys of outputs that were NaN or infinite throughout in all sets: of these only the places of
  // NaN and of each infinity were compared.
  std::vector<std::string> never_finite;

  std::string failure;   // why not passed: a sentence that names all of the following
  std::string binding;   // at which it failed; empty: that of measuring
  std::string set;       // on which set of inputs; empty: on none, the graph alone says so
  std::string output;    // key of the output (CutGraph); empty: none
  int64_t element = -1;  // row-major, in the output; -1: none
};

// How a device computes float32, which bounds how far off its results may be.
enum class DeviceArithmetic {
  kHost,     // a CPU: operands of narrow types are widened, and nothing tighter is asked of it
  kFloat32,  // a GPU that keeps float32
  kTf32,     // a GPU that rounds operands of products to TF32
};

// One thread at a time. The graph must outlive it.
class Reference {
 public:
  // How sets are drawn: friendly and wide ones in turn.
  struct Kinds {
    bool wide_first = false;
    bool assume_finite_inputs = false;  // the user said so: no infinite input is drawn
    // Candidates only have to be evaluated and to give outputs of the same types.
    bool only_types = false;
  };

  // Draws `input_sets` sets of inputs and evaluates the original on them. A set on which the
  // original cannot be evaluated, or on which an output has mostly no finite number, is drawn again
  // by another draw of its kind. Errors: of the evaluator, where no draw will do;
  // FAILED_PRECONDITION where all outputs are NaN or infinite throughout in all sets, so that
  // nothing could be compared; CANCELLED.
  static absl::StatusOr<Reference> Create(const CutGraph& original, int input_sets, uint64_t seed,
                                          int threads, const StopCondition& stop, Kinds kinds);

  // Compares all outputs. The candidate's inputs must be among the original's. It fails where an
  // output or a link is missing (FindLack) and where an element differs by more than is allowed.
  // Elements that rounding alone would change as much in the original are forgiven if what
  // surrounds them was found right on other inputs; for that further sets are drawn, which later
  // candidates are compared on, too. The same errors as Create.
  absl::StatusOr<Verdict> Check(const CutGraph& candidate, int threads, const StopCondition& stop);

  // What a device computed for `candidate` from inputs(0): `outputs` are `values` of its graph.
  // Returns the largest RelativeNorm of an output. INTERNAL naming the output that is so far off
  // that a kernel must be wrong: a tile of it may be lost. What rounding comes to over a deep
  // network depends on the narrowest type and on the device.
  absl::StatusOr<double> CheckRun(const CutGraph& candidate,
                                  const std::vector<model::ValueId>& values,
                                  const std::vector<model::Tensor>& outputs,
                                  DeviceArithmetic arithmetic) const;

  // The inputs of set `index`, in the order of the original's inputs.
  const std::vector<model::Tensor>& inputs(int index) const { return sets_[index].inputs; }
  // Sets that candidates are compared on by now.
  int num_sets() const { return static_cast<int>(sets_.size()); }
  const CutGraph& original() const { return *original_; }

 private:
  class Comparison;

  struct InputSet {
    std::span<const Draw> draws;  // those of its kind, wider ones first
    size_t drawn = 0;             // which of them it was drawn by
    uint64_t seed = 0;
    bool was_narrowed = false;  // a narrower one was drawn to tell more
    std::vector<model::Tensor> inputs;
    std::vector<model::Tensor> outputs;
    // --- How rounding moves the outputs; measured when a candidate differs
    int noisy_evaluations = 0;
    std::vector<std::vector<float>> deviations;  // by output, by element
    std::vector<bool> overflowed;                // by output (RoundingNoise)
  };

  explicit Reference(const CutGraph& original)
      : original_(&original), tolerance_(verify::Tolerance(original.graph)) {}

  absl::Status AddSet(std::span<const Draw> draws, size_t first, uint64_t seed, int threads,
                      const StopCondition& stop);
  // Evaluates set `index` with rounding noise until it was done `times` times.
  absl::Status MeasureNoise(size_t index, int times, int threads, const StopCondition& stop);
  Conditioning ConditioningOf(const InputSet& set, size_t output) const {
    return {set.deviations[output], set.overflowed[output]};
  }
  std::string SetName(size_t index) const;

  const CutGraph* original_;
  double tolerance_;
  bool only_types_ = false;
  std::vector<InputSet> sets_;
};

// `inputs` of the original, reordered for a graph whose inputs have other positions. NOT_FOUND if
// the candidate has an input that the original has not.
absl::StatusOr<std::vector<model::Tensor>> MatchInputs(const CutGraph& original,
                                                       const std::vector<model::Tensor>& inputs,
                                                       const CutGraph& candidate);

}  // namespace quotient::verify
