#pragma once

// Purpose: what a guard is for. Every word that guards are made of declares one (vocabulary.h).

#include <array>
#include <optional>

#include "absl/strings/string_view.h"

namespace quotient::rules {

enum class Purpose {
  kEquation,   // Without it the sides are not equal. Shown by a counterexample.
  kBuilding,   // The right side is made from what it asserts, such as a known value.
  kTypes,      // Integers are only moved, never computed in another way.
  kRounding,   // The sides are equal, but one would round worse, or a step would jump.
  kRange,      // The sides are equal, but numbers of one would leave the range of the type.
  kNonFinite,  // The sides are equal but for infinities and NaN, or for means of nothing.
  kRuntime,    // What ONNX Runtime cannot run, or rewrites by itself in another way.
  kCost,       // The rule would rewrite what it makes no cheaper, or do the same work twice.
};
inline constexpr std::array kPurposes = {
    Purpose::kEquation, Purpose::kBuilding,  Purpose::kTypes,   Purpose::kRounding,
    Purpose::kRange,    Purpose::kNonFinite, Purpose::kRuntime, Purpose::kCost};

// One word, as records and pages have it.
const char* NameOf(Purpose purpose);
std::optional<Purpose> PurposeOfName(absl::string_view name);
// What that word says of a guard: "without it ...".
const char* MeaningOf(Purpose purpose);

}  // namespace quotient::rules
