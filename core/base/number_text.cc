#include "core/base/number_text.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quotient {

std::string NumberText(double number) {
  if (std::isnan(number)) return "nan";  // Also with a sign.
  constexpr int kFewest = 6;
  constexpr int kEnough = 17;  // For any double.
  for (int digits = kFewest; digits < kEnough; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, number);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == number) return text;
  }
  return absl::StrFormat("%.*g", kEnough, number);
}

std::string NumberText(const Number& number) {
  if (const double* const real = std::get_if<double>(&number)) return NumberText(*real);
  if (const int64_t* const integer = std::get_if<int64_t>(&number)) return absl::StrCat(*integer);
  return absl::StrCat(std::get<uint64_t>(number));
}

}  // namespace quotient
