#include "core/verify/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/number_text.h"
#include "core/base/status_macros.h"
#include "core/verify/element_text.h"
#include "core/verify/slices.h"

namespace quotient::verify {
namespace {

using model::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of evaluations with noise, which measure how far rounding moves an element. If the first
// explains all differences and leaves no doubt, it is enough, because more would only forgive more.
// If few elements are still wrong after three, these may be ties that went the same way three
// times, and more are made. A tie goes the other way in at least 7 of 16 evaluations, so that
// sixteen miss one in 10,000.
constexpr int kNoisyEvaluationsAtFirst = 1;
constexpr int kNoisyEvaluations = 3;
constexpr int kNoisyEvaluationsForTies = 16;
constexpr int64_t kFewElements = 2;
constexpr int64_t kFewOf = 16;
// Elements in doubt are forgiven if at least this share of each slice around them was found right.
constexpr double kEnoughTold = 0.5;
// The most sets that are drawn with narrower values to resolve doubts.
constexpr int kMostNarrowed = 3;

absl::flat_hash_map<std::string, size_t> Positions(const std::vector<std::string>& keys) {
  absl::flat_hash_map<std::string, size_t> positions;
  for (size_t i = 0; i < keys.size(); ++i) positions.emplace(keys[i], i);
  return positions;
}

// The relative norm of an error beyond which a kernel must be wrong: five or more times what
// rounding was seen to reach in deep networks (bfloat16 2e-2, float16 1e-2, TF32 2e-3). A Conv of
// squeezenet that loses one tile of 128 x 64 makes 3.4e-3 to 1.4e-1.
double WrongNorm(const model::Graph& graph, DeviceArithmetic arithmetic) {
  constexpr double kFloat16Tolerance = 1e-2;
  const double tolerance = Tolerance(graph);
  if (arithmetic == DeviceArithmetic::kHost || tolerance > kFloat16Tolerance) return 0.1;
  if (tolerance == kFloat16Tolerance) return 5e-2;
  return arithmetic == DeviceArithmetic::kTf32 ? 1e-2 : 3e-4;
}

}  // namespace

// Compares one candidate on all sets.
class Reference::Comparison {
 public:
  Comparison(Reference& reference, const CutGraph& candidate, int threads,
             const StopCondition& stop)
      : reference_(reference),
        candidate_(candidate),
        threads_(threads),
        stop_(stop),
        has_told_(candidate.output_keys.size(), false) {
    verdict_.tolerance = reference.tolerance_;
    const auto positions = Positions(reference.original_->output_keys);
    for (const std::string& key : candidate.output_keys) {
      const auto found = positions.find(key);
      original_output_.push_back(found == positions.end() ? kNone : found->second);
    }
  }

  absl::StatusOr<Verdict> Run() {
    CheckKeys();
    // CompareSet may add sets.
    for (size_t set = 0; verdict_.failure.empty() && set < reference_.sets_.size(); ++set) {
      QUOTIENT_RETURN_IF_ERROR(CompareSet(set));
    }
    NoteNeverFinite();
    if (verdict_.failure.empty()) QUOTIENT_RETURN_IF_ERROR(ResolveDoubts());
    verdict_.passed = verdict_.failure.empty();
    return std::move(verdict_);
  }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void Fail(std::string failure, std::string output, double error) {
    verdict_.failure = std::move(failure);
    verdict_.output = std::move(output);
    verdict_.max_relative_error = error;
  }

  void SetFailingSet(size_t set) {
    verdict_.set = reference_.sets_.Name(set);
    verdict_.set_at = static_cast<int>(set);
  }

  void CheckKeys() {
    const std::optional<Lack> lack = FindLack(*reference_.original_, candidate_);
    if (lack.has_value()) {
      Fail(absl::StrCat(lack->key, " ", lack->why), lack->key, kInfinity);
      return;
    }
    for (size_t i = 0; i < original_output_.size(); ++i) {
      if (original_output_[i] != kNone) continue;
      Fail(absl::StrCat("the original has no ", candidate_.output_keys[i]),
           candidate_.output_keys[i], kInfinity);
      return;
    }
  }

  absl::Status CompareSet(size_t set) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const std::vector<Tensor> inputs,
        MatchInputs(*reference_.original_, reference_.sets_.at(set).inputs, candidate_));
    absl::StatusOr<std::vector<Tensor>> outputs =
        EvaluateOutputs(candidate_, inputs, threads_, stop_);
    if (!outputs.ok()) {
      if (stop_.ShouldStop()) return outputs.status();
      SetFailingSet(set);
      Fail(absl::StrCat("it cannot be evaluated on ", verdict_.set, ": ",
                        outputs.status().message()),
           "", kInfinity);
      return absl::OkStatus();
    }
    outputs_.push_back(*std::move(outputs));
    if (!reference_.only_types_) ++verdict_.inputs;
    bool has_doubts = false;
    for (size_t i = 0; i < original_output_.size() && verdict_.failure.empty(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(CompareOutput(set, i, &has_doubts));
    }
    return has_doubts && verdict_.failure.empty() ? Narrow(set) : absl::OkStatus();
  }

  // Compares first without regard to rounding, which costs nothing extra, and then with it.
  absl::Status CompareOutput(size_t set, size_t i, bool* has_doubts) {
    const Tensor& original = reference_.sets_.at(set).outputs[original_output_[i]];
    if (reference_.only_types_ && original.type() == outputs_[set][i].type()) {
      return absl::OkStatus();
    }
    Difference difference = Compare(original, outputs_[set][i], verdict_.tolerance,
                                    /*conditioning=*/nullptr, NonFiniteOf(set));
    const bool same_type = original.type() == outputs_[set][i].type();
    for (const int times :
         {kNoisyEvaluationsAtFirst, kNoisyEvaluations, kNoisyEvaluationsForTies}) {
      const bool is_right = difference.relative_error <= verdict_.tolerance;
      const bool may_have_doubts = times > kNoisyEvaluations;
      if (!same_type || (is_right && (may_have_doubts || !difference.has_doubts))) break;
      if (times > kNoisyEvaluations && !AreFew(difference.wrong, original.elements())) break;
      QUOTIENT_RETURN_IF_ERROR(reference_.sets_.MeasureNoise(set, times, threads_, stop_));
      difference = CompareBesideNoise(set, i);
    }
    if (difference.has_finite || original.elements() == 0) has_told_[i] = true;
    if (difference.relative_error > verdict_.tolerance) {
      FailAt(set, i, difference);
      return absl::OkStatus();
    }
    verdict_.max_relative_error = std::max(verdict_.max_relative_error, difference.relative_error);
    if (difference.has_doubts) {
      *has_doubts = true;
      doubts_.push_back({set, i, std::move(difference.doubtful)});
    }
    return absl::OkStatus();
  }

  static bool AreFew(int64_t wrong, int64_t elements) {
    return wrong <= std::max(kFewElements, elements / kFewOf);
  }

  Difference CompareBesideNoise(size_t set, size_t i) const {
    const InputSet& inputs = reference_.sets_.at(set);
    const Conditioning conditioning = inputs.ConditioningOf(original_output_[i]);
    return Compare(inputs.outputs[original_output_[i]], outputs_[set][i], verdict_.tolerance,
                   &conditioning, NonFiniteOf(set));
  }

  void FailAt(size_t set, size_t i, const Difference& difference) {
    const Tensor& original = reference_.sets_.at(set).outputs[original_output_[i]];
    const Tensor& other = outputs_[set][i];
    const std::string& key = candidate_.output_keys[i];
    SetFailingSet(set);
    if (original.type() != other.type()) {
      Fail(absl::StrCat(key, " is ", ToString(other.type()), ", but should be ",
                        ToString(original.type())),
           key, kInfinity);
      return;
    }
    verdict_.element = difference.index;
    Fail(absl::StrCat(key, ElementText(original.type(), difference.index), " is ",
                      NumberText(NumberAt(other, difference.index)), " instead of ",
                      NumberText(NumberAt(original, difference.index)), ", off by ",
                      difference.relative_error, " of what surrounds it, on ", verdict_.set),
         key, difference.relative_error);
  }

  // Draws another set with narrower values for a set that leaves doubts.
  absl::Status Narrow(size_t set) {
    if (reference_.sets_.at(set).was_narrowed || num_narrowed_ == kMostNarrowed) {
      return absl::OkStatus();
    }
    ++num_narrowed_;
    const absl::Status narrowed = reference_.sets_.Narrow(set, threads_, stop_);
    // If nothing narrower can be drawn, the doubts remain.
    return stop_.ShouldStop() ? narrowed : absl::OkStatus();
  }

  void NoteNeverFinite() {
    for (size_t i = 0; i < has_told_.size(); ++i) {
      if (!has_told_[i]) verdict_.never_finite.push_back(candidate_.output_keys[i]);
    }
  }

  absl::Status ResolveDoubts() {
    for (const Doubt& doubt : doubts_) {
      QUOTIENT_ASSIGN_OR_RETURN(const std::vector<bool> told,
                                ToldElements(doubt.output, Magnitude(doubt.set)));
      const int64_t unresolved = FirstUnresolved(doubt, told);
      if (unresolved < 0) continue;
      // There is no evidence that this is rounding, so the difference counts.
      const Tensor& original =
          reference_.sets_.at(doubt.set).outputs[original_output_[doubt.output]];
      Difference strict = Compare(original, outputs_[doubt.set][doubt.output], verdict_.tolerance,
                                  /*conditioning=*/nullptr, NonFiniteOf(doubt.set));
      strict.index = unresolved;
      FailAt(doubt.set, doubt.output, strict);
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  struct Doubt {
    size_t set;
    size_t output;
    std::vector<bool> elements;
  };

  NonFinite NonFiniteOf(size_t set) const { return reference_.NonFiniteOf(static_cast<int>(set)); }

  double Magnitude(size_t set) const {
    const InputSet& inputs = reference_.sets_.at(set);
    return inputs.draws[inputs.drawn].magnitude;
  }

  // By element of an output, whether it was found right on some set. Sets of larger values do not
  // count, because beside larger values the same error is smaller.
  absl::StatusOr<std::vector<bool>> ToldElements(size_t output, double most_magnitude) {
    std::vector<bool> told;
    for (size_t set = 0; set < outputs_.size(); ++set) {
      if (Magnitude(set) > most_magnitude) continue;
      QUOTIENT_RETURN_IF_ERROR(
          reference_.sets_.MeasureNoise(set, kNoisyEvaluations, threads_, stop_));
      const Difference difference = CompareBesideNoise(set, output);
      if (told.empty()) told.resize(difference.told.size());
      for (size_t i = 0; i < told.size(); ++i) told[i] = told[i] || difference.told[i];
    }
    return told;
  }

  // The first element in doubt with a slice of which too few elements were found right, or -1.
  int64_t FirstUnresolved(const Doubt& doubt, const std::vector<bool>& told) const {
    const Slices slices(outputs_[doubt.set][doubt.output].dims());
    std::vector<int64_t> found(slices.count());
    slices.ForEachElement([&](int64_t index, std::span<const int64_t> of_element) {
      if (!told[static_cast<size_t>(index)]) return;
      for (int64_t slice : of_element) ++found[static_cast<size_t>(slice)];
    });
    const std::vector<int64_t> sizes = slices.Sizes();
    const auto is_told = [&](int64_t slice) {
      const auto at = static_cast<size_t>(slice);
      return static_cast<double>(found[at]) >= kEnoughTold * static_cast<double>(sizes[at]);
    };
    int64_t first = -1;
    slices.ForEachElement([&](int64_t index, std::span<const int64_t> of_element) {
      if (first >= 0 || !doubt.elements[static_cast<size_t>(index)]) return;
      if (!std::ranges::all_of(of_element, is_told)) first = index;
    });
    return first;
  }

  Reference& reference_;
  const CutGraph& candidate_;
  const int threads_;
  const StopCondition& stop_;
  Verdict verdict_;
  std::vector<size_t> original_output_;  // by output of the candidate
  std::vector<bool> has_told_;  // By output: whether it ever was empty or had a finite element.
  std::vector<std::vector<Tensor>> outputs_;  // By set and output of the candidate.
  std::vector<Doubt> doubts_;
  int num_narrowed_ = 0;
};

absl::StatusOr<Reference> Reference::Create(const CutGraph& original, int input_sets, uint64_t seed,
                                            int threads, const StopCondition& stop,
                                            const Kinds& kinds) {
  Reference reference(original, kinds);
  Turn turn{.binding = kinds.binding};
  for (int set = 0; set < input_sets + kinds.further_wide; ++set) {
    const bool is_wide = set >= input_sets || (set % 2 == 0) == kinds.wide_first;
    const std::span<const Draw> draws =
        is_wide ? WideDraws(original.graph, kinds.assume_finite_inputs) : UnitDraws();
    const absl::Status added =
        reference.sets_.Add(draws, seed + static_cast<uint64_t>(set), turn, threads, stop);
    if (set < input_sets || stop.ShouldStop()) QUOTIENT_RETURN_IF_ERROR(added);
    ++turn.set;
    turn.wide += is_wide;
  }
  if (!kinds.only_types && !reference.sets_.TellSomething()) {
    return absl::FailedPreconditionError(
        "all its outputs are empty, or NaN or infinite throughout, on all inputs that were tried");
  }
  return reference;
}

absl::StatusOr<Verdict> Reference::Check(const CutGraph& candidate, int threads,
                                         const StopCondition& stop) {
  return Comparison(*this, candidate, threads, stop).Run();
}

NonFinite Reference::NonFiniteOf(int index) const {
  const InputSet& inputs = sets_.at(static_cast<size_t>(index));
  return inputs.draws[inputs.drawn].has_infinities ? NonFinite::kMayDiffer : NonFinite::kMustAgree;
}

absl::StatusOr<double> Reference::CheckRun(const CutGraph& candidate,
                                           const std::vector<model::ValueId>& values,
                                           const std::vector<Tensor>& outputs,
                                           DeviceArithmetic arithmetic) const {
  const double wrong = WrongNorm(original_->graph, arithmetic);
  double largest = 0;
  const auto positions = Positions(original_->output_keys);
  absl::flat_hash_map<model::ValueId, size_t> output_of_value;
  for (size_t i = 0; i < values.size(); ++i) output_of_value.emplace(values[i], i);
  for (size_t i = 0; i < candidate.graph.outputs.size(); ++i) {
    const auto run = output_of_value.find(candidate.graph.outputs[i]);
    const auto known = positions.find(candidate.output_keys[i]);
    // Other outputs are not computed by the device.
    if (run == output_of_value.end() || known == positions.end()) continue;
    const double norm = RelativeNorm(sets_.at(0).outputs[known->second], outputs[run->second]);
    largest = std::max(largest, norm);
    if (norm > wrong) {
      return absl::InternalError(absl::StrCat(kWrongKernel, candidate.output_keys[i],
                                              " comes out with an error of ", norm,
                                              " of its norm, and rounding explains ", wrong));
    }
  }
  return largest;
}

absl::StatusOr<std::vector<Tensor>> MatchInputs(const CutGraph& original,
                                                const std::vector<Tensor>& inputs,
                                                const CutGraph& candidate) {
  const auto positions = Positions(original.input_keys);
  std::vector<Tensor> matched;
  matched.reserve(candidate.input_keys.size());
  for (const std::string& key : candidate.input_keys) {
    const auto found = positions.find(key);
    if (found == positions.end()) {
      return absl::NotFoundError(absl::StrCat("the original has no ", key));
    }
    matched.push_back(inputs[found->second]);
  }
  return matched;
}

}  // namespace quotient::verify
