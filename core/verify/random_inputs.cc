#include "core/verify/random_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/rng.h"
#include "core/ops/interval.h"
#include "core/verify/demands.h"
#include "core/verify/random_values.h"
#include "core/verify/rounding.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Tensor;

constexpr Draw kUnitDraws[] = {
    {.name = "values in [-1, 1]"},
    {.name = "other values in [-1, 1]"},
    {.name = "values in [-1, 1], integers from 1 on", .has_zero_integers = false},
    {.name = "values in [-1, 1], different integers",
     .largest_integer = 1000,
     .has_spread_integers = true},
};

constexpr Draw UpTo1000(absl::string_view name, bool has_infinities, bool has_extremes) {
  return {.name = name,
          .magnitude = 1e3,
          .has_infinities = has_infinities,
          .has_extremes = has_extremes,
          .largest_integer = 1000,
          .has_negative_integers = true,
          .has_integer_thresholds = true};
}

constexpr Draw kBoth =
    UpTo1000("values up to 1000, with infinities, NaN and huge ones", true, true);
constexpr Draw kInfinite =
    UpTo1000("values up to 1000, with infinities where they end", true, false);
constexpr Draw kExtreme = UpTo1000("values up to 1000, with NaN and huge ones", false, true);
constexpr Draw kPlain = UpTo1000("values up to 1000", false, false);
constexpr Draw kUpTo30 = {.name = "values up to 30", .magnitude = 30, .largest_integer = 7};
constexpr Draw kUpTo1 = {.name = "values up to 1, integers from 1 on",
                         .magnitude = 1,
                         .largest_integer = 2,
                         .has_zero_integers = false};
constexpr Draw kDifferent = {.name = "values up to 1, different integers",
                             .magnitude = 1,
                             .largest_integer = 1000,
                             .has_spread_integers = true};

// The widest draws by what the graph takes: nothing, infinities, extremes, both.
constexpr Draw kWideDraws[] = {kPlain, kUpTo30, kUpTo1, kDifferent};
constexpr Draw kInfiniteDraws[] = {kInfinite, kPlain, kUpTo30, kUpTo1, kDifferent};
constexpr Draw kExtremeDraws[] = {kExtreme, kPlain, kUpTo30, kUpTo1, kDifferent};
constexpr Draw kBothDraws[] = {kBoth, kInfinite, kPlain, kUpTo30, kUpTo1, kDifferent};

double DrawUnit(const Demand& demand, Rng& rng) {
  return demand.positive ? rng.Uniform(0.1, 1.1) : rng.Uniform(-1, 1);
}

Tensor DrawFloats(const model::TensorType& type, const Source& source, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<double> values;
  if (source.draw.magnitude > 0) {
    values = WideFloats(type, source, rng);
  } else {
    values.resize(static_cast<size_t>(tensor.elements()));
    for (double& value : values) value = DrawUnit(source.demand, rng);
  }
  // A threshold may be beyond the range of a float16, where it would represent an infinity.
  const double most = type.dtype == model::DType::kFloat16 ? LargestOrdinary(type.dtype)
                                                           : ops::LargestOf(type.dtype);
  for (double& value : values) {
    if (std::isfinite(value)) value = std::clamp(value, -most, most);
  }
  model::Store(type.dtype, bytes, 0, values);
  return tensor;
}

Tensor DrawIntegers(const model::TensorType& type, const Source& source, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  const std::vector<int64_t> values = RandomIntegers(type, source, rng);
  model::Store(type.dtype, bytes, 0, std::span(values));
  return tensor;
}

bool TakesInfinities(const Demand& demand) {
  return demand.takes_infinities || demand.takes_minus_infinity || demand.positive;
}

bool TakesExtremes(const Graph& graph, const std::vector<Demand>& demands) {
  for (size_t i = 0; i < demands.size(); ++i) {
    const bool is_float = model::IsFloat(graph.value(graph.inputs[i]).type.dtype);
    if (is_float && (demands[i].takes_nan || demands[i].takes_largest)) return true;
  }
  return false;
}

template <typename T>
void AddNew(const std::vector<T>& numbers, std::vector<T>* all) {
  for (const T number : numbers) {
    if (std::ranges::find(*all, number) == all->end()) all->push_back(number);
  }
}

// What is further comes first, since small inputs do not come to all numbers.
Thresholds Joined(const Graph& graph, const Thresholds& further) {
  Thresholds all = further;
  const Thresholds own = FindThresholds(graph);
  AddNew(own.floats, &all.floats);
  AddNew(own.integers, &all.integers);
  return all;
}

int64_t Quotient(size_t number, int64_t divisor) {
  return (static_cast<int64_t>(number) + divisor - 1) / divisor;
}

// The number of sets in which everything occurs in an input.
int64_t SetsWanted(const model::TensorType& type, const Demand& demand,
                   const Thresholds& thresholds) {
  const int64_t count = type.elements();
  if (count == 0 || type.dtype == model::DType::kBool) return 1;
  if (demand.index_bound != Demand::kNoBound) {
    const auto bound = static_cast<size_t>(demand.index_bound);
    return Quotient(std::max(bound, kKindsOfIntegers * thresholds.integers.size()), count);
  }
  const int64_t rows = Quotient(kKindsOfRows, count / RowLength(type));
  if (model::IsFloat(type.dtype)) {
    // About half of few rows are mixed.
    const size_t drawn = 2 * kKindsOfFloats * std::max<size_t>(thresholds.floats.size(), 1);
    return std::max(rows, Quotient(drawn, count));
  }
  // Three of all kinds of integers are thresholds.
  const size_t drawn = kKindsOfIntegers * std::max<size_t>(thresholds.integers.size() / 3, 1);
  return std::max(rows, Quotient(drawn, count));
}

}  // namespace

std::span<const Draw> UnitDraws() { return kUnitDraws; }

std::span<const Draw> WideDraws(const Graph& graph, bool assume_finite_inputs) {
  if (assume_finite_inputs) return kWideDraws;
  const std::vector<Demand> demands = FindDemands(graph);
  const bool takes_extremes = TakesExtremes(graph, demands);
  if (std::ranges::any_of(demands, TakesInfinities)) {
    return takes_extremes ? std::span<const Draw>(kBothDraws) : kInfiniteDraws;
  }
  return takes_extremes ? std::span<const Draw>(kExtremeDraws) : kWideDraws;
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed, const Draw& draw,
                                 const Turn& turn, const Thresholds& further) {
  const std::vector<Demand> demands = FindDemands(graph);
  const Thresholds thresholds = Joined(graph, further);
  std::vector<Tensor> inputs;
  inputs.reserve(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const model::TensorType& type = graph.value(graph.inputs[i]).type;
    Rng rng(seed, i);
    const Source source{draw, demands[i], thresholds, turn, i};
    inputs.push_back(model::IsFloat(type.dtype) ? DrawFloats(type, source, rng)
                                                : DrawIntegers(type, source, rng));
  }
  return inputs;
}

int64_t WideSetsWanted(const Graph& graph, const Thresholds& further) {
  constexpr int64_t kMost = 16;
  const std::vector<Demand> demands = FindDemands(graph);
  const Thresholds thresholds = Joined(graph, further);
  int64_t wanted = 1;
  for (size_t i = 0; i < demands.size(); ++i) {
    const model::TensorType& type = graph.value(graph.inputs[i]).type;
    wanted = std::max(wanted, SetsWanted(type, demands[i], thresholds));
  }
  return std::min(wanted, kMost);
}

}  // namespace quotient::verify
