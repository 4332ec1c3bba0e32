#include "core/verify/input_sets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/verify/elements.h"
#include "core/verify/rounding.h"

namespace quotient::verify {
namespace {

using model::Tensor;

// A set is good enough if at least this share of each output of the original is finite.
constexpr double kEnoughFinite = 0.5;

// Whether comparing an output is meaningful beyond the places of NaN and infinities.
bool HasFinite(const Tensor& output) {
  if (!model::IsFloat(output.dtype()) || output.elements() == 0) return true;
  return AnyElement(output, [](double value) { return std::isfinite(value); });
}

// The finite share of floating-point outputs: the smallest of all outputs, and their mean.
struct FiniteShare {
  double least = 1;
  double mean = 1;
};

FiniteShare FiniteShareOf(const std::vector<Tensor>& outputs) {
  FiniteShare share;
  double sum = 0;
  int count = 0;
  for (const Tensor& output : outputs) {
    if (!model::IsFloat(output.dtype()) || output.elements() == 0) continue;
    int64_t finite = 0;
    PartReader reader(output);
    for (std::span<const double> part = reader.Next(); !part.empty(); part = reader.Next()) {
      finite += std::ranges::count_if(part, [](double value) { return std::isfinite(value); });
    }
    const double of_output = static_cast<double>(finite) / static_cast<double>(output.elements());
    share.least = std::min(share.least, of_output);
    sum += of_output;
    ++count;
  }
  if (count > 0) share.mean = sum / count;
  return share;
}

}  // namespace

absl::Status InputSets::Add(std::span<const Draw> draws, uint64_t seed, const Turn& turn,
                            int threads, const StopCondition& stop) {
  return AddFrom({.draws = draws, .seed = seed, .turn = turn}, threads, stop);
}

absl::Status InputSets::Narrow(size_t index, int threads, const StopCondition& stop) {
  InputSet& wide = sets_[index];
  wide.was_narrowed = true;
  const size_t next = wide.drawn + 1;
  if (next >= wide.draws.size()) return absl::OkStatus();
  return AddFrom({.draws = wide.draws, .drawn = next, .seed = wide.seed + 1, .turn = wide.turn},
                 threads, stop);
}

bool InputSets::TellSomething() const {
  return std::ranges::any_of(sets_, [](const InputSet& set) {
    return set.outputs.empty() || std::ranges::any_of(set.outputs, [](const Tensor& output) {
             return output.elements() > 0 && HasFinite(output);
           });
  });
}

absl::Status InputSets::AddFrom(const InputSet& wanted, int threads, const StopCondition& stop) {
  std::optional<InputSet> best;
  double best_share = 0;  // The mean finite share of its outputs.
  absl::Status status;
  for (size_t drawn = wanted.drawn; drawn < wanted.draws.size(); ++drawn) {
    InputSet set{.draws = wanted.draws, .drawn = drawn, .seed = wanted.seed, .turn = wanted.turn};
    set.inputs =
        RandomInputs(original_->graph, set.seed + drawn, set.draws[drawn], set.turn, further_);
    absl::StatusOr<std::vector<Tensor>> outputs =
        EvaluateOutputs(*original_, set.inputs, threads, stop);
    if (!outputs.ok()) {
      if (stop.ShouldStop()) return outputs.status();
      status = outputs.status();
      continue;
    }
    set.outputs = *std::move(outputs);
    const FiniteShare share = FiniteShareOf(set.outputs);
    if (!best.has_value() || share.mean > best_share) {
      best = std::move(set);
      best_share = share.mean;
    }
    if (share.least >= kEnoughFinite) break;
  }
  if (!best.has_value()) return status;
  sets_.push_back(*std::move(best));
  return absl::OkStatus();
}

absl::Status InputSets::MeasureNoise(size_t index, int times, int threads,
                                     const StopCondition& stop) {
  InputSet& set = sets_[index];
  if (set.deviations.empty()) {
    for (const Tensor& output : set.outputs) {
      set.deviations.emplace_back(static_cast<size_t>(output.elements()), 0.0f);
    }
    set.overflowed.resize(set.outputs.size(), false);
  }
  for (; set.noisy_evaluations < times; ++set.noisy_evaluations) {
    // Noise must not repeat the numbers that the inputs were drawn by.
    constexpr uint64_t kNoiseSeed = 0x9e3779b97f4a7c15;
    RoundingNoise noise(original_->graph,
                        (set.seed ^ kNoiseSeed) + static_cast<uint64_t>(set.noisy_evaluations));
    const absl::StatusOr<std::vector<Tensor>> moved = EvaluateOutputs(
        *original_, set.inputs, threads, stop,
        [&noise](model::NodeId id, std::span<const Tensor* const> inputs,
                 std::vector<Tensor>& outputs) { noise.Visit(id, inputs, outputs); });
    if (!moved.ok()) {
      if (stop.ShouldStop()) return moved.status();
      // Noise made the evaluation fail, such as by an index out of range, so nothing on this set is
      // well-conditioned.
      for (std::vector<float>& deviation : set.deviations) {
        std::ranges::fill(deviation, std::numeric_limits<float>::infinity());
      }
      continue;
    }
    for (size_t i = 0; i < moved->size(); ++i) {
      if (noise.overflowed(original_->graph.outputs[i])) set.overflowed[i] = true;
      RaiseDeviation(set.outputs[i], (*moved)[i], &set.deviations[i]);
    }
  }
  return absl::OkStatus();
}

std::string InputSets::Name(size_t index) const {
  const InputSet& set = sets_[index];
  return absl::StrCat("set ", index + 1, " (", set.draws[set.drawn].name, ")");
}

absl::StatusOr<std::vector<Tensor>> EvaluateOutputs(const CutGraph& cut,
                                                    const std::vector<Tensor>& inputs, int threads,
                                                    const StopCondition& stop,
                                                    const eval::NodeHook& hook) {
  eval::ValueMap values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace(cut.graph.inputs[i], inputs[i]);
  QUOTIENT_ASSIGN_OR_RETURN(
      const eval::ValueMap results,
      eval::Evaluate(cut.graph, values, cut.graph.outputs, threads, stop, hook));
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

}  // namespace quotient::verify
