#include "core/prove/point.h"

#include <cmath>
#include <iterator>
#include <variant>

#include "core/model/attribute.h"
#include "core/model/dtype.h"
#include "core/model/tensor.h"

namespace quotient::prove {
namespace {

// Larger numbers stand for infinity.
constexpr double kLargestNumber = 0x1p24;
constexpr int64_t kMostElements = 4;
constexpr size_t kMostNumbers = 64;

void Add(double number, std::set<double>& numbers) {
  const double size = std::abs(number);
  if (size > 0 && size <= kLargestNumber && numbers.size() < kMostNumbers) numbers.insert(number);
}

// The number itself in one of eight cases, otherwise next to it.
double Around(double number, Rng& rng) {
  if (rng.Below(8) == 0) return number;
  constexpr uint64_t kDigits = 24;
  const double distance =
      std::ldexp(1 + rng.NextDouble(), -1 - static_cast<int>(rng.Below(kDigits)));
  return number * (1 + (rng.Below(2) == 0 ? distance : -distance));
}

double Large(const std::set<double>& numbers, Rng& rng) {
  if (!numbers.empty() && rng.Below(2) == 0) {
    return Around(*std::next(numbers.begin(), static_cast<int64_t>(rng.Below(numbers.size()))),
                  rng);
  }
  return std::exp2(rng.Uniform(-7, 8)) * (rng.Below(2) == 0 ? 1 : -1);
}

}  // namespace

std::vector<double> DrawFloats(const Point& point, int64_t count, Rng& rng) {
  std::vector<double> elements(static_cast<size_t>(count));
  const bool is_half = rng.Below(2) == 0;
  for (double& each : elements) {
    switch (point.range) {
      case Point::Range::kSmall:
        each = rng.Uniform(-1, 1);
        break;
      case Point::Range::kMiddle:
        each = rng.Uniform(is_half ? -1 : -8, 8);
        break;
      case Point::Range::kLarge:
        each = Large(point.numbers, rng);
        if (is_half) each = std::abs(each);
        break;
    }
  }
  return elements;
}

std::set<double> NumbersOf(const domain::TensorEGraph& tensors) {
  std::set<double> numbers;
  for (const egraph::ClassId cls : tensors.egraph->classes()) {
    for (const egraph::ENodeId enode : tensors.egraph->nodes(cls)) {
      const domain::OpWord& word = tensors.domain->word(tensors.egraph->node(enode).op);
      for (const auto& [name, attribute] : word.attributes) {
        if (const auto* number = std::get_if<double>(&attribute)) Add(*number, numbers);
      }
      if (!word.constant || !model::IsFloat(word.constant->dtype())) continue;
      if (word.constant->elements() > kMostElements) continue;
      for (const double each : word.constant->AsDoubles()) Add(each, numbers);
    }
  }
  return numbers;
}

}  // namespace quotient::prove
