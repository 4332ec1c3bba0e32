#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/distinct_tuples.h"
#include "core/verify/random_values.h"

namespace quotient::verify {
namespace {

using model::DType;

// Where limits of the type are not taken, no threshold is larger.
constexpr auto kLargestWithoutLimits = static_cast<int64_t>(kLargestThreshold);
// Indices of larger tables are drawn independently of each other.
constexpr int64_t kLargestDeck = 1 << 20;

bool IsUnsigned(DType dtype) {
  return dtype == DType::kUint8 || dtype == DType::kUint16 || dtype == DType::kUint32 ||
         dtype == DType::kUint64 || dtype == DType::kBool;
}

// The smallest and the largest number of a type. uint64 counts as int64.
std::pair<int64_t, int64_t> LimitsOf(DType dtype) {
  const int bits = static_cast<int>(model::DTypeBits(dtype));
  if (IsUnsigned(dtype) && bits < 64) return {0, (int64_t{1} << bits) - 1};
  const int64_t most = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return {IsUnsigned(dtype) ? 0 : -most - 1, most};
}

// Goes through all indices less than a bound in a random order, and again in another one.
class IndexWalk {
 public:
  // `place` is the number of indices that are skipped.
  IndexWalk(int64_t bound, uint64_t input, int64_t place)
      : input_(input), place_(place), deck_(static_cast<size_t>(bound)) {
    Shuffle();
  }

  int64_t Next() {
    const auto bound = static_cast<int64_t>(deck_.size());
    const int64_t index = deck_[static_cast<size_t>(place_ % bound)];
    if (++place_ % bound == 0) Shuffle();
    return index;
  }

 private:
  // The order depends on the input and on the number of times that all indices were drawn, so that
  // another set can go on with it.
  void Shuffle() {
    constexpr uint64_t kSeed = 0x696e6469636573;
    Rng rng(kSeed + input_, static_cast<uint64_t>(place_) / deck_.size());
    std::iota(deck_.begin(), deck_.end(), 0);
    for (size_t i = deck_.size(); i > 1; --i) std::swap(deck_[i - 1], deck_[rng.Below(i)]);
  }

  const uint64_t input_;
  int64_t place_;
  std::vector<int64_t> deck_;
};

class Drawer {
 public:
  Drawer(const model::TensorType& type, const Source& source, Rng& rng)
      : type_(type),
        draw_(source.draw),
        demand_(source.demand),
        turn_(source.turn),
        input_(source.input),
        rng_(rng) {
    if (!draw_.has_integer_thresholds) return;
    const auto [least, most] = Range();
    std::ranges::copy_if(source.thresholds.integers, std::back_inserter(thresholds_),
                         [least = least, most = most](int64_t threshold) {
                           return least <= threshold && threshold <= most;
                         });
  }

  std::vector<int64_t> Values() {
    const int64_t count = type_.elements();
    if (count == 0) return {};
    if (!demand_.tuple_bounds.empty()) return Tuples(count);
    std::vector<int64_t> values(static_cast<size_t>(count));
    if (AreIndices()) {
      FillIndices(values);
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
  bool AreIndices() const { return demand_.index_bound != Demand::kNoBound; }
  // 8- and 16-bit indices must fit into their type.
  int64_t IndexBound() const {
    const int64_t type_bound = model::DTypeBits(type_.dtype) < 32 ? 127 : Demand::kNoBound;
    return std::clamp<int64_t>(demand_.index_bound, 1, type_bound);
  }
  bool MayBeNegative() const { return draw_.has_negative_integers && !IsUnsigned(type_.dtype); }
  bool MayBeZero() const { return draw_.has_zero_integers && !demand_.nonzero; }
  // Numbers of 8 bits have no limits that a graph could not take.
  bool TakesLimits() const { return demand_.takes_largest || model::DTypeBits(type_.dtype) <= 8; }

  // The numbers among which thresholds may be.
  std::pair<int64_t, int64_t> Range() const {
    auto [least, most] = LimitsOf(type_.dtype);
    if (AreIndices()) {
      least = -IndexBound();
      most = IndexBound() - 1;
    } else if (!TakesLimits()) {
      least = std::max(least, -kLargestWithoutLimits);
      most = std::min(most, kLargestWithoutLimits);
    }
    return {MayBeNegative() ? least : std::max<int64_t>(least, 0), most};
  }

  std::vector<int64_t> Tuples(int64_t count) {
    std::vector<int64_t> bounds = demand_.tuple_bounds;
    for (int64_t& bound : bounds) bound = std::min(bound, IndexBound());
    return DistinctTuples(bounds, count / static_cast<int64_t>(bounds.size()), rng_);
  }

  // Most indices are those of a walk, so that together all sets read as much of a table as they
  // have elements. Some are drawn independently, so that the same one may occur twice.
  void FillIndices(std::vector<int64_t>& values) {
    const int64_t bound = IndexBound();
    if (bound > kLargestDeck) {
      for (int64_t& value : values) value = FromEitherEnd(AnyIndex());
      return;
    }
    // Bindings begin at places far from each other.
    constexpr double kGoldenRatio = 0.6180339887498949;
    const double share = std::fmod(kGoldenRatio * static_cast<double>(turn_.binding), 1);
    const auto count = static_cast<int64_t>(values.size());
    // The fewest steps that a set makes, so that none is left out.
    const int64_t steps =
        std::max<int64_t>(count - count / kKindsOfIntegers - (count + 7) / kKindsOfIntegers, 1);
    IndexWalk walk(bound, input_,
                   static_cast<int64_t>(share * static_cast<double>(bound)) + turn_.set * steps);
    const int64_t turn = turn_.wide + turn_.binding;
    threshold_ = turn * ((count + kKindsOfIntegers - 1) / kKindsOfIntegers);
    for (int64_t i = 0; i < count; ++i) {
      int64_t& value = values[static_cast<size_t>(i)];
      const int64_t kind = (turn + i) % kKindsOfIntegers;
      if (kind == 0 && !thresholds_.empty()) {
        value = NextThreshold();
      } else {
        value = FromEitherEnd(kind == kKindsOfIntegers - 1 ? AnyIndex() : walk.Next());
      }
    }
  }

  int64_t AnyIndex() {
    return static_cast<int64_t>(rng_.Below(static_cast<uint64_t>(IndexBound())));
  }

  int64_t FromEitherEnd(int64_t index) {
    return MayBeNegative() && rng_.NextDouble() < 0.25 ? index - IndexBound() : index;
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

  // Fills rows with zeros, with any integers, with ones, and with ones and zeros, in turn. A single
  // row is filled so by quarters.
  void FillRows(std::vector<int64_t>& values) {
    const auto count = static_cast<int64_t>(values.size());
    const int64_t length = RowLength(type_);
    const bool is_single = length >= count;
    const int64_t row = is_single ? std::max<int64_t>(count / kKindsOfRows, 1) : length;
    const int64_t turn = turn_.wide + turn_.binding;
    const int64_t first = is_single ? turn + 1 : turn * (count / row);
    // If limits are taken, these are numbers rather than a mask, so that more of few rows are any
    // integers.
    const bool is_number = demand_.takes_largest && count / length < kKindsOfRows;
    // A set draws so many at least, of one row in four.
    threshold_ = turn * std::max<int64_t>(3 * count / (kKindsOfIntegers * kKindsOfRows), 1);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t kind = (first + i / row) % kKindsOfRows;
      int64_t& value = values[static_cast<size_t>(i)];
      if (kind == 1 || (is_number && kind == 2)) {
        // An odd step from set to set comes to all kinds, however few elements there are.
        value = Any(turn * (count | 1) + i + i / length);
      } else {
        value = kind == 3 ? static_cast<int64_t>(rng_.Below(2)) : kind == 2 ? 1 : 0;
      }
      if (value == 0 && !MayBeZero()) value = 1;
    }
  }

  int64_t Any(int64_t place) {
    if (type_.dtype == DType::kBool) return static_cast<int64_t>(rng_.Below(2));
    switch (place % kKindsOfIntegers) {
      case 0:
        return Sign() * static_cast<int64_t>(Largest());
      case 1:
      case 4:
      case 6:
        if (!thresholds_.empty()) return NextThreshold();
        break;
      case 3:
        if (draw_.has_integer_thresholds && TakesLimits()) return AnyLimit();
        break;
      case 5:
        if (draw_.has_integer_thresholds && TakesLimits()) return AnyOfType();
        break;
    }
    return Sign() * Magnitude();
  }

  // All orders of magnitude are equally likely.
  int64_t Magnitude() {
    const auto most = static_cast<int64_t>(Largest());
    const double drawn = std::exp(rng_.Uniform(0, std::log(static_cast<double>(most) + 1))) - 0.5;
    return std::clamp<int64_t>(std::llround(drawn), 0, most);
  }

  int64_t Sign() { return MayBeNegative() && rng_.NextDouble() < 0.5 ? -1 : 1; }

  int64_t AnyLimit() {
    const auto [least, most] = Range();
    return rng_.NextDouble() < 0.5 ? least : most;
  }

  // A long number: it has half of the bits of its type or more. Most of these are no floats.
  int64_t AnyOfType() {
    const auto bits = static_cast<uint64_t>(model::DTypeBits(type_.dtype));
    const auto [least, most] = Range();
    const auto drawn = static_cast<int64_t>(rng_.Next() >> (64 - bits + 1 + rng_.Below(bits / 2)));
    return std::clamp(Sign() * drawn, least, most);
  }

  int64_t NextThreshold() {
    return thresholds_[static_cast<size_t>(threshold_++) % thresholds_.size()];
  }

  const model::TensorType& type_;
  const Draw& draw_;
  const Demand& demand_;
  const Turn& turn_;
  const uint64_t input_;
  Rng& rng_;
  std::vector<int64_t> thresholds_;  // Those that this input may have.
  int64_t threshold_ = 0;            // The number that was drawn, in sets before, too.
};

}  // namespace

std::vector<int64_t> RandomIntegers(const model::TensorType& type, const Source& source, Rng& rng) {
  return Drawer(type, source, rng).Values();
}

}  // namespace quotient::verify
