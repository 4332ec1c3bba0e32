#include "core/rules/guard_records.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::rules {

extern const char kGuards[];  // The content of guards.txt.

namespace {

constexpr char kNeeded[] = "needed";
constexpr char kNotRefuted[] = "not refuted";

}  // namespace

absl::StatusOr<std::vector<RecordedGuard>> ParseGuards(absl::string_view text) {
  std::vector<RecordedGuard> guards;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    const auto error = [&] { return absl::InvalidArgumentError(absl::StrCat("no guard: ", line)); };
    if (fields.size() != 6) return error();
    RecordedGuard guard = {.rule = fields[0], .guard = fields[2], .finding = fields[5]};
    const std::optional<Purpose> purpose = PurposeOfName(fields[4]);
    guard.is_needed = fields[3] == kNeeded;
    if (!absl::SimpleAtoi(fields[1], &guard.left) || !purpose ||
        (!guard.is_needed && fields[3] != kNotRefuted)) {
      return error();
    }
    guard.purpose = *purpose;
    guards.push_back(std::move(guard));
  }
  return guards;
}

std::string ToText(const std::vector<RecordedGuard>& guards) {
  std::string text;
  for (const RecordedGuard& guard : guards) {
    absl::StrAppend(&text, guard.rule, "\t", guard.left, "\t", guard.guard, "\t",
                    guard.is_needed ? kNeeded : kNotRefuted, "\t", NameOf(guard.purpose), "\t",
                    guard.finding, "\n");
  }
  return text;
}

const std::vector<RecordedGuard>& Guards() {
  static const auto& guards = *new std::vector<RecordedGuard>(*ParseGuards(kGuards));
  return guards;
}

std::vector<RecordedGuard> GuardsOf(absl::string_view rule) {
  std::vector<RecordedGuard> of_rule;
  std::ranges::copy_if(Guards(), std::back_inserter(of_rule),
                       [&](const RecordedGuard& guard) { return guard.rule == rule; });
  return of_rule;
}

}  // namespace quotient::rules
