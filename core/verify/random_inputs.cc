#include "core/verify/random_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/distinct_tuples.h"
#include "core/base/rng.h"
#include "core/verify/demands.h"

namespace quotient::verify {
namespace {

using model::DType;
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

constexpr Draw kWideDraws[] = {
    {.name = "values up to 1000, with infinities where they end",
     .magnitude = 1e3,
     .has_specials = true,
     .largest_integer = 1000,
     .has_negative_integers = true},
    {.name = "values up to 1000",
     .magnitude = 1e3,
     .largest_integer = 1000,
     .has_negative_integers = true},
    {.name = "values up to 30", .magnitude = 30, .largest_integer = 7},
    {.name = "values up to 1, integers from 1 on",
     .magnitude = 1,
     .largest_integer = 2,
     .has_zero_integers = false},
    {.name = "values up to 1, different integers",
     .magnitude = 1,
     .largest_integer = 1000,
     .has_spread_integers = true},
};

double DrawUnit(const Demand& demand, Rng& rng) {
  return demand.positive ? rng.Uniform(0.1, 1.1) : rng.Uniform(-1, 1);
}

class WideFloats {
 public:
  WideFloats(const Draw& draw, const Demand& demand, const std::vector<double>& thresholds,
             Rng& rng)
      : draw_(draw),
        demand_(demand),
        thresholds_(thresholds),
        log_of_most_(std::log(draw.magnitude)),
        rng_(rng) {}

  // Fills rows of this length. If there are several, some hide everything (in masks), some are all
  // zero, and some are small throughout, for which the epsilon in normalizations matters.
  void Fill(int64_t row, std::vector<double>& values) {
    const auto count = static_cast<int64_t>(values.size());
    const auto first = static_cast<int64_t>(rng_.Below(kRows));
    for (int64_t i = 0; i < count; ++i) {
      values[static_cast<size_t>(i)] = Next(row < count ? RowOf(first + i / row) : Row::kMixed);
    }
  }

 private:
  enum class Row { kMixed, kHidden, kZero, kSmall };

  bool TakesMinus() const {
    return draw_.has_specials && (demand_.takes_minus_infinity || demand_.takes_infinities);
  }

  // Every kind of row occurs once in this many rows.
  static constexpr uint64_t kRows = 8;
  Row RowOf(int64_t index) const {
    switch (static_cast<uint64_t>(index) % kRows) {
      case 0:
        return TakesMinus() ? Row::kHidden : Row::kMixed;
      case 2:
        return demand_.positive ? Row::kMixed : Row::kZero;
      case 5:
        return Row::kSmall;
      default:
        return Row::kMixed;
    }
  }

  double Next(Row row) {
    switch (row) {
      case Row::kHidden:
        return -std::numeric_limits<double>::infinity();
      case Row::kZero:
        return 0;
      case Row::kSmall:
        return rng_.Uniform(demand_.positive ? 1e-3 : -2e-3, 2e-3);
      default:
        return NextMixed();
    }
  }

  // Each kind is drawn once in sixteen consecutive elements, in a new random order.
  double NextMixed() {
    if (next_ == kinds_.size()) Shuffle();
    const int kind = kinds_[next_++];
    if (TakesMinus() && kind >= 14) return -std::numeric_limits<double>::infinity();
    if (TakesMinus() && kind == 13 && !demand_.takes_minus_infinity) {
      return std::numeric_limits<double>::infinity();
    }
    const double value = NextFinite(kind);
    if (!demand_.positive || (draw_.has_specials && kind == 12)) return value;
    return std::max(std::abs(value), 1e-3);
  }

  double NextFinite(int kind) {
    switch (kind) {
      case 0:
        return 0.0;
      case 1:
        return -0.0;
      case 2:  // Two neighbors: one is rounded to the even number away from zero, one towards it.
        half_ = static_cast<double>(rng_.Below(16)) - 8 + 0.5;
        return half_;
      case 3:
        return half_ + 1;
      case 4:
      case 5:
        if (!thresholds_.empty()) return thresholds_[rng_.Below(thresholds_.size())];
        break;
      case 12:
        return -Magnitude();
    }
    return rng_.NextDouble() < 0.5 ? Magnitude() : -Magnitude();
  }

  // All orders of magnitude are equally likely.
  double Magnitude() { return std::exp(rng_.Uniform(kLogOfLeast, log_of_most_)); }

  void Shuffle() {
    for (size_t i = kinds_.size(); i > 1; --i) std::swap(kinds_[i - 1], kinds_[rng_.Below(i)]);
    next_ = 0;
  }

  const Draw& draw_;
  const Demand& demand_;
  const std::vector<double>& thresholds_;
  static constexpr double kLogOfLeast = -6.907755278982137;  // of 1e-3
  const double log_of_most_;
  Rng& rng_;
  std::array<int, 16> kinds_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  size_t next_ = 16;
  double half_ = 0.5;
};

int64_t RowLength(const model::TensorType& type) {
  return type.rank() == 0 ? 1 : std::max<int64_t>(type.dims().back(), 1);
}

Tensor DrawFloats(const model::TensorType& type, const Draw& draw, const Demand& demand,
                  const std::vector<double>& thresholds, Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  if (draw.magnitude > 0) {
    WideFloats(draw, demand, thresholds, rng).Fill(RowLength(type), values);
  } else {
    for (double& value : values) value = DrawUnit(demand, rng);
  }
  model::Store(type.dtype, bytes, 0, values);
  return tensor;
}

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 ||
         dtype == DType::kUint64 || dtype == DType::kBool;
}

class Integers {
 public:
  Integers(const model::TensorType& type, const Draw& draw, const Demand& demand, Rng& rng)
      : type_(type), draw_(draw), demand_(demand), rng_(rng) {}

  std::vector<int64_t> Values() {
    const int64_t count = type_.elements();
    if (!demand_.tuple_bounds.empty()) return Tuples(count);
    std::vector<int64_t> values(static_cast<size_t>(count));
    if (demand_.index_bound != Demand::kNoBound) {
      for (int64_t& value : values) value = Index();
    } else if (draw_.largest_integer == 0) {
      FillMask(values);
    } else if (draw_.has_spread_integers) {
      for (int64_t& value : values) value = 1 + static_cast<int64_t>(rng_.Below(Largest()));
    } else {
      FillRows(values);
    }
    return values;
  }

 private:
  // 8- and 16-bit indices must fit into their type.
  int64_t IndexBound() const {
    const int64_t type_bound = model::DTypeBits(type_.dtype) < 32 ? 127 : Demand::kNoBound;
    return std::clamp<int64_t>(demand_.index_bound, 1, type_bound);
  }
  bool MayBeNegative() const { return draw_.has_negative_integers && !IsUnsigned(type_.dtype); }
  bool MayBeZero() const { return draw_.has_zero_integers && !demand_.nonzero; }

  std::vector<int64_t> Tuples(int64_t count) {
    std::vector<int64_t> bounds = demand_.tuple_bounds;
    for (int64_t& bound : bounds) bound = std::min(bound, IndexBound());
    return DistinctTuples(bounds, count / static_cast<int64_t>(bounds.size()), rng_);
  }

  int64_t Index() {
    const int64_t bound = IndexBound();
    const auto index = static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(bound)));
    return MayBeNegative() && rng_.NextDouble() < 0.25 ? index - bound : index;
  }

  uint64_t Largest() const {
    if (model::DTypeBits(type_.dtype) >= 16) return static_cast<uint64_t>(draw_.largest_integer);
    const int64_t most = IsUnsigned(type_.dtype) ? 255 : 127;
    return static_cast<uint64_t>(std::min(draw_.largest_integer, most));
  }

  // Most likely these integers are a mask or a small choice, so they are ones and zeros. The first
  // is always one, so that no mask hides everything.
  void FillMask(std::vector<int64_t>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = i == 0 || !MayBeZero() || rng_.NextDouble() < 0.75 ? 1 : 0;
    }
  }

  // Fills rows with ones, with zeros, with both, and with any integers, in turn. A single row is
  // filled so by quarters.
  void FillRows(std::vector<int64_t>& values) {
    const auto count = static_cast<int64_t>(values.size());
    const int64_t row =
        RowLength(type_) < count ? RowLength(type_) : std::max<int64_t>(count / 4, 1);
    const uint64_t first = rng_.Below(4);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t kind = (first + i / static_cast<size_t>(row)) % 4;
      values[i] = kind == 0 ? 1 : kind == 1 ? 0 : kind == 2 ? rng_.NextDouble() < 0.5 : Any(i);
      if (values[i] == 0 && !MayBeZero()) values[i] = 1;
    }
  }

  // All orders of magnitude are equally likely. Every eighth number is the largest.
  int64_t Any(size_t index) {
    const auto most = static_cast<int64_t>(Largest());
    if (type_.dtype == DType::kBool) return rng_.NextDouble() < 0.5;
    const double drawn = std::exp(rng_.Uniform(0, std::log(static_cast<double>(most) + 1))) - 0.5;
    const int64_t value = index % 8 == 0 ? most : std::clamp<int64_t>(std::llround(drawn), 0, most);
    return MayBeNegative() && rng_.NextDouble() < 0.5 ? -value : value;
  }

  const model::TensorType& type_;
  const Draw& draw_;
  const Demand& demand_;
  Rng& rng_;
};

Tensor DrawIntegers(const model::TensorType& type, const Draw& draw, const Demand& demand,
                    Rng& rng) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  const std::vector<int64_t> values = Integers(type, draw, demand, rng).Values();
  model::Store(type.dtype, bytes, 0, std::span(values));
  return tensor;
}

bool HasSpecials(const Demand& demand) {
  return demand.takes_infinities || demand.takes_minus_infinity || demand.positive;
}

}  // namespace

std::span<const Draw> UnitDraws() { return kUnitDraws; }

std::span<const Draw> WideDraws(const Graph& graph, bool assume_finite_inputs) {
  const std::span<const Draw> draws(kWideDraws);
  // Without specials the first two draws are the same.
  const bool has_specials =
      !assume_finite_inputs && std::ranges::any_of(FindDemands(graph), HasSpecials);
  return has_specials ? draws : draws.subspan(1);
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed, const Draw& draw) {
  const std::vector<Demand> demands = FindDemands(graph);
  const std::vector<double> thresholds = Thresholds(graph);
  std::vector<Tensor> inputs;
  inputs.reserve(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const model::TensorType& type = graph.value(graph.inputs[i]).type;
    Rng rng(seed, i);
    inputs.push_back(model::IsFloat(type.dtype)
                         ? DrawFloats(type, draw, demands[i], thresholds, rng)
                         : DrawIntegers(type, draw, demands[i], rng));
  }
  return inputs;
}

}  // namespace quotient::verify
