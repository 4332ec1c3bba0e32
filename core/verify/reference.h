#pragma once

// Reference: the outputs of an original on several sets of inputs, at one binding of its dims. They
// are computed once and compared with those of any number of candidates.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/compare.h"
#include "core/verify/cut.h"
#include "core/verify/input_sets.h"

namespace quotient::verify {

struct Verdict {
  bool passed = false;
  // Over all elements that are not in doubt (Difference::relative_error).
  double max_relative_error = 0;
  double tolerance = 0;
  int inputs = 0;  // Number of input sets compared.
  // Keys of outputs without any finite element in all sets. Only the places of NaN and infinities
  // were compared in these.
  std::vector<std::string> never_finite;

  std::string failure;  // A sentence on why it did not pass, which names all of the following.
  std::string binding;  // Where it failed; empty for the binding used for measuring.
  bool breaks_names = false;  // Whether sizes of one name differ there (BreaksNames).
  int bound_at = -1;          // The place of the binding among Checker::bindings(), or -1.
  std::string set;            // The set of inputs; empty if the graph alone shows the failure.
  int set_at = -1;            // Its number (Reference::inputs), or -1.
  std::string output;         // Key of the wrong output (CutGraph), or empty.
  int64_t element = -1;       // Row-major index of the wrong element in that output, or -1.
};

// How a device computes float32, which determines how large its errors may be.
enum class DeviceArithmetic {
  kHost,     // A CPU. Gets the loosest bound, because tests check its kernels.
  kFloat32,  // A GPU that computes in float32.
  kTf32,     // A GPU that rounds operands of products to TF32.
};

// One thread at a time. The graph must outlive it.
class Reference {
 public:
  // Which sets of inputs are drawn. Friendly and wide ones alternate.
  struct Kinds {
    bool wide_first = false;
    bool assume_finite_inputs = false;  // If set, none beyond 1e6 are drawn.
    // If set, candidates must only be evaluable and have outputs of the same types.
    bool only_types = false;
    int further_wide = 0;  // The number of wide sets that are drawn beside `input_sets`.
    int64_t binding = 0;   // Turn::binding
    Thresholds further;    // Thresholds beside those of the original.
  };

  // Draws `input_sets` sets of inputs and evaluates the original on them. If the original cannot be
  // evaluated on a set, or an output is mostly NaN or infinite, the set is drawn again by another
  // draw of its kind. Fails with the evaluator's error if no draw can be evaluated, with
  // FAILED_PRECONDITION if no output has a finite element in any set, so that nothing could be
  // compared, and with CANCELLED.
  static absl::StatusOr<Reference> Create(const CutGraph& original, int input_sets, uint64_t seed,
                                          int threads, const StopCondition& stop,
                                          const Kinds& kinds);

  // Compares all outputs. The candidate's inputs must be among the original's. The candidate does
  // not pass if an output or a link is missing (FindLack), or if an element differs by more than is
  // allowed. An element that rounding alone changes as much in the original is forgiven if the
  // elements around it were found right on other inputs. For that, further sets may be drawn, on
  // which later candidates are compared, too. Fails as Create does.
  absl::StatusOr<Verdict> Check(const CutGraph& candidate, int threads, const StopCondition& stop);

  // What messages about wrong kernels begin with.
  static constexpr char kWrongKernel[] = "a kernel of this device is wrong: ";

  // Checks what a device computed for `candidate` from inputs(0). `outputs` are the contents of
  // `values` of its graph. Returns the largest RelativeNorm of an output. Fails with INTERNAL,
  // naming the output, if it is so far off that a kernel must be wrong. How far rounding may lead
  // in a deep network depends on the narrowest type and on the device.
  absl::StatusOr<double> CheckRun(const CutGraph& candidate,
                                  const std::vector<model::ValueId>& values,
                                  const std::vector<model::Tensor>& outputs,
                                  DeviceArithmetic arithmetic) const;

  // The inputs of set `index`, in the order of the original's inputs.
  const std::vector<model::Tensor>& inputs(int index) const {
    return sets_.at(static_cast<size_t>(index)).inputs;
  }
  // How non-finite numbers of set `index` are compared.
  NonFinite NonFiniteOf(int index) const;
  // The number of sets on which candidates are compared, which may grow.
  int num_sets() const { return static_cast<int>(sets_.size()); }
  const CutGraph& original() const { return *original_; }

 private:
  class Comparison;

  Reference(const CutGraph& original, const Kinds& kinds)
      : original_(&original),
        tolerance_(verify::Tolerance(original.graph)),
        only_types_(kinds.only_types),
        sets_(&original, kinds.further) {}

  const CutGraph* original_;
  double tolerance_;
  bool only_types_;
  InputSets sets_;
};

// Returns `inputs` of the original in the order of the candidate's inputs. NOT_FOUND if the
// candidate has an input that the original does not have.
absl::StatusOr<std::vector<model::Tensor>> MatchInputs(const CutGraph& original,
                                                       const std::vector<model::Tensor>& inputs,
                                                       const CutGraph& candidate);

}  // namespace quotient::verify
