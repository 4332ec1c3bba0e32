#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/verify/extremes.h"
#include "core/verify/random_values.h"

namespace quotient::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// A row that is cut into parts has at least so many elements.
constexpr int64_t kLongRow = 64;

class Drawer {
 public:
  Drawer(const Source& source, Rng& rng)
      : draw_(source.draw),
        demand_(source.demand),
        thresholds_(source.thresholds.floats),
        turn_(source.turn),
        input_(source.input),
        log_of_most_(std::log(draw_.magnitude)),
        rng_(rng) {}

  // Fills rows of this length. Some hide everything (in masks), some are all zero, and some are
  // small throughout, for which the epsilon in normalizations matters. Where there are few rows, a
  // long one that would be mixed has parts that are so.
  void Fill(int64_t row, std::vector<double>& values) {
    const auto count = static_cast<int64_t>(values.size());
    const int64_t rows = count / row;
    const bool has_parts = rows < kKindsOfRows && row >= kLongRow;
    const int64_t first = (turn_.wide + turn_.binding) * rows;
    drawn_ = (count == 1 ? first : MixedBefore(first) * row) + turn_.binding * (kKindsOfFloats / 2);
    threshold_ = (turn_.wide + turn_.binding) * (count / kKindsOfFloats + 1);
    for (int64_t i = 0; i < count; ++i) {
      Row kind = count == 1 ? Row::kMixed : RowOf(first + i / row);
      if (has_parts && kind == Row::kMixed) kind = RowOf(i % row * kCycle / row);
      values[static_cast<size_t>(i)] = Next(kind);
    }
  }

 private:
  enum class Row { kMixed, kHidden, kZero, kSmall };

  bool TakesMinus() const {
    return draw_.has_infinities && (demand_.takes_minus_infinity || demand_.takes_infinities);
  }

  // The first few rows, which all inputs have, are of each kind. Most are mixed.
  static constexpr int64_t kCycle = 2 * kKindsOfRows;
  Row RowOf(int64_t index) const {
    switch (index % kCycle) {
      case 1:
        return Row::kSmall;
      case 2:
        return demand_.positive ? Row::kMixed : Row::kZero;
      case 3:
        return TakesMinus() ? Row::kHidden : Row::kMixed;
      default:
        return Row::kMixed;
    }
  }

  // The number of mixed rows among the first so many.
  int64_t MixedBefore(int64_t rows) const {
    int64_t of_cycle = 0, of_rest = 0;
    for (int64_t i = 0; i < kCycle; ++i) {
      const bool is_mixed = RowOf(i) == Row::kMixed;
      of_cycle += is_mixed;
      of_rest += is_mixed && i < rows % kCycle;
    }
    return rows / kCycle * of_cycle + of_rest;
  }

  double Next(Row row) {
    switch (row) {
      case Row::kHidden:
        return -kInfinity;
      case Row::kZero:
        return 0;
      case Row::kSmall:
        return rng_.Uniform(demand_.positive ? 1e-3 : -2e-3, 2e-3);
      default:
        return NextMixed();
    }
  }

  // Each kind is drawn once in sixteen consecutive elements, in a random order that goes on from
  // set to set.
  double NextMixed() {
    const int64_t cycle = drawn_ / kKindsOfFloats;
    if (cycle != cycle_) Shuffle(cycle);
    const int kind = kinds_[static_cast<size_t>(drawn_++ % kKindsOfFloats)];
    if (TakesMinus() && kind >= 14) return -kInfinity;
    if (TakesMinus() && kind == 13 && !demand_.takes_minus_infinity) return kInfinity;
    if (draw_.has_extremes && demand_.takes_nan && kind == 11) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double value = NextFinite(kind);
    if (!demand_.positive || (draw_.has_infinities && kind == 12)) return value;
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
        if (!thresholds_.empty()) return NextThreshold();
        break;
      case 5:  // Beside a threshold, on either side.
        if (!thresholds_.empty()) return BesideThreshold();
        break;
      case 10:
        if (draw_.has_extremes && demand_.takes_largest) return Flip() ? kHuge : -kHuge;
        break;
      case 12:
        return -Magnitude();
    }
    return Flip() ? Magnitude() : -Magnitude();
  }

  bool Flip() { return rng_.NextDouble() < 0.5; }

  double NextThreshold() {
    return thresholds_[static_cast<size_t>(threshold_++) % thresholds_.size()];
  }

  double BesideThreshold() {
    return std::clamp(NextThreshold() * (Flip() ? 1.0625 : 0.9375), -kLargestThreshold,
                      kLargestThreshold);
  }

  // All orders of magnitude are equally likely.
  double Magnitude() { return std::exp(rng_.Uniform(kLogOfLeast, log_of_most_)); }

  // The order depends on the input and the cycle alone, so that another set can go on with it.
  void Shuffle(int64_t cycle) {
    constexpr uint64_t kSeed = 0x6b696e6473;
    Rng rng(kSeed + input_, static_cast<uint64_t>(cycle));
    for (size_t i = 0; i < kinds_.size(); ++i) kinds_[i] = static_cast<int>(i);
    for (size_t i = kinds_.size(); i > 1; --i) std::swap(kinds_[i - 1], kinds_[rng.Below(i)]);
    cycle_ = cycle;
  }

  const Draw& draw_;
  const Demand& demand_;
  const std::vector<double>& thresholds_;
  const Turn& turn_;
  const uint64_t input_;
  static constexpr double kLogOfLeast = -6.907755278982137;  // of 1e-3
  const double log_of_most_;
  Rng& rng_;
  std::array<int, kKindsOfFloats> kinds_ = {};  // The order in this cycle.
  int64_t cycle_ = -1;
  int64_t drawn_ = 0;      // The number of mixed elements so far, those of sets before included.
  int64_t threshold_ = 0;  // The same of thresholds.
  double half_ = 0.5;
};

}  // namespace

int64_t RowLength(const model::TensorType& type) {
  return type.rank() == 0 ? 1 : std::max<int64_t>(type.dims().back(), 1);
}

std::vector<double> WideFloats(const model::TensorType& type, const Source& source, Rng& rng) {
  std::vector<double> values(static_cast<size_t>(type.elements()));
  if (!values.empty()) Drawer(source, rng).Fill(RowLength(type), values);
  return values;
}

}  // namespace quotient::verify
