#include "core/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/eval/evaluator.h"
#include "core/verify/random_inputs.h"

namespace quotient::verify {
namespace {

using model::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kChunk = 4096;

// Numbers that stand for an infinity, as the -3e38 of masks: beside one as the largest value every
// difference would be small. They are compared one by one.
bool IsHuge(double value, model::DType dtype) {
  return std::abs(value) > (dtype == model::DType::kFloat16 ? 6e4 : 1e30);
}

bool SameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

Difference CompareFloats(const Tensor& original, const Tensor& other) {
  std::vector<double> a(kChunk), b(kChunk);
  double largest = 0, difference = 0, of_huge = 0;
  Difference result;
  for (int64_t begin = 0; begin < original.elements(); begin += kChunk) {
    const size_t count = static_cast<size_t>(std::min(kChunk, original.elements() - begin));
    original.Load(begin, std::span(a).first(count));
    other.Load(begin, std::span(b).first(count));
    for (size_t i = 0; i < count; ++i) {
      const int64_t index = begin + static_cast<int64_t>(i);
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
        if (!SameSpecial(a[i], b[i])) return {kInfinity, index};
        continue;
      }
      ++result.finite;
      if (IsHuge(a[i], original.dtype())) {
        of_huge = std::max(of_huge, std::abs(a[i] - b[i]) / std::abs(a[i]));
        continue;
      }
      largest = std::max(largest, std::abs(a[i]));
      if (std::abs(a[i] - b[i]) > difference) {
        difference = std::abs(a[i] - b[i]);
        result.index = index;
      }
    }
  }
  // All zero in the original: the difference itself counts, against 1.
  result.relative_error = std::max(of_huge, difference / (largest > 0 ? largest : 1));
  return result;
}

Difference CompareIntegers(const Tensor& original, const Tensor& other) {
  const std::vector<int64_t> a = original.AsInts(), b = other.AsInts();
  const auto [at, unused] = std::mismatch(a.begin(), a.end(), b.begin());
  if (at == a.end()) return {.finite = original.elements()};
  return {kInfinity, at - a.begin()};
}

absl::StatusOr<std::vector<Tensor>> EvaluateOutputs(const CutGraph& cut,
                                                    const std::vector<Tensor>& inputs, int threads,
                                                    const StopCondition& stop) {
  eval::ValueMap values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace(cut.graph.inputs[i], inputs[i]);
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap results,
                            eval::Evaluate(cut.graph, values, cut.graph.outputs, threads, stop));
  std::vector<Tensor> outputs;
  outputs.reserve(cut.graph.outputs.size());
  for (model::ValueId id : cut.graph.outputs) {
    const auto found = results.find(id);
    if (found == results.end()) {
      return absl::InternalError(absl::StrCat("no value for '", cut.graph.value(id).name, "'"));
    }
    outputs.push_back(found->second);
  }
  return outputs;
}

absl::flat_hash_map<std::string, size_t> Positions(const std::vector<std::string>& keys) {
  absl::flat_hash_map<std::string, size_t> positions;
  for (size_t i = 0; i < keys.size(); ++i) positions.emplace(keys[i], i);
  return positions;
}

// Of results that went through values of a type.
double Tolerance(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat32:
      return 1e-4;
    case model::DType::kFloat16:
      return 1e-2;
    case model::DType::kBfloat16:
      return 2e-2;
    default:
      return 1e-9;
  }
}

}  // namespace

Difference Compare(const Tensor& original, const Tensor& other) {
  if (original.type() != other.type()) return {kInfinity, 0};
  return model::IsFloat(original.dtype()) ? CompareFloats(original, other)
                                          : CompareIntegers(original, other);
}

double RelativeNorm(const Tensor& original, const Tensor& other) {
  if (original.type() != other.type()) return kInfinity;
  if (!model::IsFloat(original.dtype())) return 0;
  std::vector<double> a(kChunk), b(kChunk);
  double of_original = 0, of_difference = 0;
  for (int64_t begin = 0; begin < original.elements(); begin += kChunk) {
    const size_t count = static_cast<size_t>(std::min(kChunk, original.elements() - begin));
    original.Load(begin, std::span(a).first(count));
    other.Load(begin, std::span(b).first(count));
    for (size_t i = 0; i < count; ++i) {
      if (!std::isfinite(a[i]) || IsHuge(a[i], original.dtype())) continue;
      of_original += a[i] * a[i];
      of_difference += (a[i] - b[i]) * (a[i] - b[i]);
    }
  }
  if (!std::isfinite(of_difference)) return kInfinity;
  // All zero in the original: the difference itself counts, against 1.
  return std::sqrt(of_difference / (of_original > 0 ? of_original : 1));
}

double Tolerance(const model::Graph& graph) {
  double tolerance = 1e-9;
  const auto widen = [&](const std::vector<model::ValueId>& ids) {
    for (model::ValueId id : ids) {
      if (id.valid()) tolerance = std::max(tolerance, Tolerance(graph.value(id).type.dtype));
    }
  };
  for (const model::Node& node : graph.nodes) {
    widen(node.inputs);
    widen(node.outputs);
  }
  widen(graph.outputs);
  return tolerance;
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

absl::StatusOr<Reference> Reference::Create(const CutGraph& original, int input_sets, uint64_t seed,
                                            int threads, const StopCondition& stop) {
  Reference reference(original);
  for (int set = 0; set < input_sets; ++set) {
    reference.inputs_.push_back(RandomInputs(original.graph, seed + static_cast<uint64_t>(set)));
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                              EvaluateOutputs(original, reference.inputs_.back(), threads, stop));
    reference.outputs_.push_back(std::move(outputs));
  }
  return reference;
}

absl::Status Reference::CheckRun(const CutGraph& candidate,
                                 const std::vector<model::ValueId>& values,
                                 const std::vector<Tensor>& outputs) const {
  // Sums of bfloat16 over a deep network come to some hundredths.
  constexpr double kWrong = 0.1;
  const auto positions = Positions(original_->output_keys);
  for (size_t i = 0; i < candidate.graph.outputs.size(); ++i) {
    const auto run = std::find(values.begin(), values.end(), candidate.graph.outputs[i]);
    const auto known = positions.find(candidate.output_keys[i]);
    if (run == values.end() || known == positions.end()) continue;  // nothing is computed there
    const double norm = RelativeNorm(outputs_[0][known->second], outputs[run - values.begin()]);
    if (norm > kWrong) {
      return absl::InternalError(
          absl::StrCat("a kernel of this device is wrong: ", candidate.output_keys[i],
                       " comes out with an error of ", norm, " of its norm"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Verdict> Reference::Check(const CutGraph& candidate, int threads,
                                         const StopCondition& stop) const {
  Verdict verdict;
  verdict.tolerance = Tolerance(original_->graph);
  const auto candidate_outputs = Positions(candidate.output_keys);
  const auto original_outputs = Positions(original_->output_keys);
  for (const std::string& key : original_->output_keys) {
    if (absl::StartsWith(key, "output ") && !candidate_outputs.contains(key)) {
      verdict.max_relative_error = kInfinity;
      verdict.failure = absl::StrCat(key, " is missing");
      return verdict;
    }
  }
  std::vector<bool> told(candidate.output_keys.size(), false);  // a finite or an empty value
  std::string worst;
  for (size_t set = 0; set < inputs_.size(); ++set) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                              MatchInputs(*original_, inputs_[set], candidate));
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                              EvaluateOutputs(candidate, inputs, threads, stop));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto found = original_outputs.find(candidate.output_keys[i]);
      const Difference difference = found == original_outputs.end()
                                        ? Difference{.relative_error = kInfinity}
                                        : Compare(outputs_[set][found->second], outputs[i]);
      if (difference.finite > 0 || outputs[i].elements() == 0) told[i] = true;
      if (difference.relative_error <= verdict.max_relative_error) continue;
      verdict.max_relative_error = difference.relative_error;
      worst = candidate.output_keys[i];
    }
    ++verdict.inputs;
  }
  const auto untold = std::find(told.begin(), told.end(), false);
  if (verdict.max_relative_error > verdict.tolerance) {
    verdict.failure =
        absl::StrCat(worst, " is off by ", verdict.max_relative_error, " of its largest value");
  } else if (untold != told.end()) {
    verdict.failure = absl::StrCat(candidate.output_keys[untold - told.begin()],
                                   " holds no finite number, so nothing was compared");
  }
  verdict.passed = verdict.failure.empty();
  return verdict;
}

}  // namespace quotient::verify
