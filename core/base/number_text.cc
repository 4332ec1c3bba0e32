#include "core/base/number_text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace quotient {

std::string NumberText(double number) {
  constexpr int kFewest = 6;
  constexpr int kEnough = 17;  // For any double.
  for (int digits = kFewest; digits < kEnough; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, number);
    double back = 0;
    if (absl::SimpleAtod(text, &back) && back == number) return text;
  }
  return absl::StrFormat("%.*g", kEnough, number);
}

}  // namespace quotient
