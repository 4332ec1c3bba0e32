// What can still be gained, by where the time goes.

#include "core/report/explanation.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quotient::report {
namespace {

// A judgement: up to this share, what is beside the products is hardly worth a change of a model.
constexpr double kMostOthersAtLimit = 0.1;
// The same of the share of the peak from which on products are near it.
constexpr double kLeastShareOfPeak = 0.75;

double Share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Shares near one are not rounded to it: what is left would seem to be nothing.
std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string ProductsText(const Explanation& explanation, double products, double at_peak) {
  const std::string share =
      absl::StrCat(Percent(products), " of the time is in convolutions and matrix products");
  if (!explanation.peak.has_value()) return share;
  return absl::StrFormat("%s, which run at %.0f %% of the peak of this device", share,
                         100 * at_peak);
}

}  // namespace

absl::string_view RemedyName(Remedy remedy) {
  switch (remedy) {
    case Remedy::kNone:
      return "none";
    case Remedy::kTried:
      return "tried";
    case Remedy::kRewritten:
      return "rewritten";
  }
  return "none";
}

absl::string_view ProspectName(Prospect prospect) {
  switch (prospect) {
    case Prospect::kAtLimit:
      return "at_limit";
    case Prospect::kUpToKernels:
      return "up_to_kernels";
    case Prospect::kOtherKernels:
      return "other_kernels";
    case Prospect::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Prospect ProspectOf(const Explanation& explanation) {
  const TimeShares& left = explanation.result;
  if (!(left.us > 0)) return Prospect::kUnknown;
  if (1 - Share(left.products_us, left.us) > kMostOthersAtLimit) return Prospect::kOtherKernels;
  if (!explanation.peak.has_value()) return Prospect::kUnknown;
  return Share(left.products_at_peak_us, left.products_us) >= kLeastShareOfPeak
             ? Prospect::kAtLimit
             : Prospect::kUpToKernels;
}

std::string VerdictText(const Explanation& explanation) {
  const TimeShares& left = explanation.result;
  if (!(left.us > 0)) return "Nothing is known of the kernels.";
  const double products = Share(left.products_us, left.us);
  const std::string where =
      ProductsText(explanation, products, Share(left.products_at_peak_us, left.products_us));
  const std::string others = Percent(1 - products);
  const std::string bound =
      absl::StrCat("All other kernels take ", others,
                   ": a rewrite that leaves the products as they are cannot gain more.");
  switch (ProspectOf(explanation)) {
    case Prospect::kAtLimit:
      return absl::StrCat("At the limit: ", where, ". ", bound);
    case Prospect::kUpToKernels:
      return absl::StrCat("Up to the kernels: ", where, ". ", bound);
    case Prospect::kOtherKernels:
      return absl::StrCat("Not at the limit: ", where, ". All other kernels take ", others,
                          left.missed_us > 0
                              ? absl::StrCat(", those that stand alone or in a slower layout ",
                                             Percent(Share(left.missed_us, left.us)), " of all")
                              : "",
                          ".");
    case Prospect::kUnknown:
      break;
  }
  return absl::StrCat("The peak is not known: ", where, ". ", bound);
}

}  // namespace quotient::report
