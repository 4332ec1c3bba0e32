#include "core/optimize/options.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/job_options.h"

namespace quotient::optimize {
namespace {

constexpr char kSnapshotPrefix[] = "snapshot:";

absl::Status Invalid(absl::string_view option, absl::string_view what) {
  return MakeError(Reason::kOptionInvalid, absl::StrCat(option, ": ", what));
}

// --- CheckRange looks at a value, by the type of its field.

absl::Status CheckRange(const JobOption&, bool) { return absl::OkStatus(); }
absl::Status CheckRange(const JobOption&, uint64_t) { return absl::OkStatus(); }
absl::Status CheckRange(const JobOption&, const std::string&) { return absl::OkStatus(); }
absl::Status CheckRange(const JobOption&, const Words&) { return absl::OkStatus(); }

template <typename Number>
absl::Status CheckRange(const JobOption& option, Number value) {
  // The double is a number of seconds, and may be NaN.
  const bool is_in_range =
      value >= static_cast<Number>(option.least) && value <= static_cast<Number>(option.most);
  if (is_in_range) return absl::OkStatus();
  return Invalid(option.flag,
                 absl::StrCat("must be from ", option.least, " to ", option.most, option.unit));
}

absl::Status CheckRange(const JobOption& option, const Shapes& shapes) {
  for (const auto& [name, dims] : shapes) {
    for (int64_t dim : dims) {
      if (dim < 0 || dim > (int64_t{1} << 40)) {
        return Invalid(option.flag,
                       absl::StrCat("'", name, "': dimension ", dim, " is out of range"));
      }
    }
  }
  return absl::OkStatus();
}

// --- CanonicalValue writes a value, by the type of its field.

std::string CanonicalValue(bool value) { return value ? "1" : "0"; }
std::string CanonicalValue(int value) { return absl::StrCat(value); }
std::string CanonicalValue(int64_t value) { return absl::StrCat(value); }
std::string CanonicalValue(uint64_t value) { return absl::StrCat(value); }
std::string CanonicalValue(double value) { return absl::StrFormat("%.17g", value); }
std::string CanonicalValue(const std::string& value) { return value; }

std::string CanonicalValue(const Shapes& shapes) {
  std::string text;
  for (const auto& [name, dims] : shapes) {
    // Lengths make the text unambiguous whatever bytes a name has.
    absl::StrAppend(&text, name.size(), ":", name, "=", absl::StrJoin(dims, ","), ";");
  }
  return text;
}

std::string CanonicalValue(Words words) {
  std::sort(words.begin(), words.end());
  return absl::StrJoin(words, ",", [](std::string* out, const std::string& word) {
    // Names from a model may have commas and line ends themselves.
    absl::StrAppend(out, absl::StrReplaceAll(absl::CHexEscape(word), {{",", "\\x2c"}}));
  });
}

}  // namespace

absl::Status Options::Validate() const {
  for (const JobOption& option : JobOptions()) {
    QUOTIENT_RETURN_IF_ERROR(
        std::visit([&](auto field) { return CheckRange(option, this->*field); }, option.field));
    if (option.check != nullptr) QUOTIENT_RETURN_IF_ERROR(option.check(*this));
  }
  return absl::OkStatus();
}

int Options::ThreadsToUse() const {
  constexpr int kMostByDefault = 16;
  if (threads > 0) return threads;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMostByDefault);
}

std::string Options::CanonicalText() const {
  std::string text = "options-v1\n";
  for (const JobOption& option : JobOptions()) {
    const std::string value =
        std::visit([&](auto field) { return CanonicalValue(this->*field); }, option.field);
    absl::StrAppend(&text, option.key, "=", value, "\n");
  }
  return text;
}

std::string SnapshotDevice(absl::string_view bytes) {
  return absl::StrCat(kSnapshotPrefix, BlobId::Of(bytes).Text());
}

std::optional<BlobId> SnapshotOf(absl::string_view device) {
  if (!absl::ConsumePrefix(&device, kSnapshotPrefix)) return std::nullopt;
  return BlobId::FromText(device);
}

absl::Status ParseShapeOption(absl::string_view text,
                              std::map<std::string, std::vector<int64_t>>* shapes) {
  const auto invalid = [text](absl::string_view problem) {
    return MakeError(Reason::kOptionInvalid, absl::StrCat("'", Escaped(text), "' ", problem));
  };
  // Names may hold '=', dimensions never do.
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos || equals == 0) return invalid("is not NAME=DIM,DIM,...");
  std::vector<int64_t> dims;
  const absl::string_view list = text.substr(equals + 1);
  if (!list.empty()) {  // A scalar has no dimensions.
    for (absl::string_view piece : absl::StrSplit(list, ',')) {
      if (piece.empty()) return invalid("has a comma with no dimension beside it");
      int64_t dim;
      // SimpleAtoi takes blanks and signs, which no dimension has.
      if (!absl::c_all_of(piece, absl::ascii_isdigit) || !absl::SimpleAtoi(piece, &dim)) {
        return invalid(absl::StrCat("has '", Escaped(piece), "', which is not a dimension"));
      }
      dims.push_back(dim);
    }
  }
  const absl::string_view name = text.substr(0, equals);
  if (shapes->emplace(name, std::move(dims)).second) return absl::OkStatus();
  return invalid("gives the input a second shape");
}

absl::Status ParseDuration(absl::string_view text, double* seconds) {
  double unit = 1;
  absl::string_view number = text;
  if (absl::ConsumeSuffix(&number, "ms")) {
    unit = 1e-3;
  } else if (absl::ConsumeSuffix(&number, "s")) {
    unit = 1;
  } else if (absl::ConsumeSuffix(&number, "m")) {
    unit = 60;
  } else if (absl::ConsumeSuffix(&number, "h")) {
    unit = 3600;
  }
  double value;
  if (!absl::SimpleAtod(number, &value) || !std::isfinite(value) || value < 0) {
    return Invalid("duration", absl::StrCat("'", text, "' is not a time such as 30s, 2m or 500ms"));
  }
  *seconds = value * unit;
  return absl::OkStatus();
}

}  // namespace quotient::optimize
