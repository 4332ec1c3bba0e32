#pragma once

// Is an optimized graph the same function? Compared on random inputs by the reference evaluator.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/cut.h"

namespace quotient::verify {

// How two tensors differ.
struct Difference {
  // Largest |a - b| over largest |a| of finite elements; infinite where one is NaN or infinite and
  // the other is not the same, or where integers differ. Elements that stand for an infinity
  // (masks) are compared with themselves alone.
  double relative_error = 0;
  int64_t index = -1;  // where the largest difference is; -1: none
  int64_t finite = 0;  // elements that are finite in both: only they tell something
};

// Types and shapes must be equal, else the difference is infinite.
Difference Compare(const model::Tensor& original, const model::Tensor& other);

// The norm of the difference over that of the original, where that is finite: what a device's
// rounding is told from a wrong kernel by. Infinite where only the original is finite, or types
// differ; 0 for integers, which a last digit may decide.
double RelativeNorm(const model::Tensor& original, const model::Tensor& other);

// What is allowed for a graph: decided by the narrowest floating-point type in it. float64 1e-9,
// float32 1e-4, float16 1e-2, bfloat16 2e-2.
double Tolerance(const model::Graph& graph);

struct Verdict {
  bool passed = false;
  double max_relative_error = 0;
  double tolerance = 0;
  int inputs = 0;       // input sets compared
  std::string failure;  // why not passed
};

// The reference side, evaluated once and compared with any number of candidates.
class Reference {
 public:
  // Draws `input_sets` sets of inputs and evaluates the original on them. The graph must outlive
  // the reference. Errors: of the evaluator; CANCELLED.
  static absl::StatusOr<Reference> Create(const CutGraph& original, int input_sets, uint64_t seed,
                                          int threads, const StopCondition& stop);

  // Compares all outputs that `candidate` has; its inputs and outputs must be among the original's
  // and every "output NAME" of the original must be there, else the verdict is "not passed". Nor is
  // it where an output is NaN or infinite throughout: nothing was compared then. The same errors as
  // Create.
  absl::StatusOr<Verdict> Check(const CutGraph& candidate, int threads,
                                const StopCondition& stop) const;

  // What a device computed for `candidate` from inputs(0): `outputs` are `values` of its graph.
  // INTERNAL naming the output that is so far off that a kernel must be wrong: no rounding is.
  absl::Status CheckRun(const CutGraph& candidate, const std::vector<model::ValueId>& values,
                        const std::vector<model::Tensor>& outputs) const;

  // The inputs of set `index`, in the order of the original's inputs.
  const std::vector<model::Tensor>& inputs(int index) const { return inputs_[index]; }

 private:
  explicit Reference(const CutGraph& original) : original_(&original) {}

  const CutGraph* original_;
  std::vector<std::vector<model::Tensor>> inputs_;   // by set, by input
  std::vector<std::vector<model::Tensor>> outputs_;  // by set, by output
};

// `inputs` of the original, reordered for a graph whose inputs have other positions. NOT_FOUND if
// the candidate has an input that the original has not.
absl::StatusOr<std::vector<model::Tensor>> MatchInputs(const CutGraph& original,
                                                       const std::vector<model::Tensor>& inputs,
                                                       const CutGraph& candidate);

}  // namespace quotient::verify
