#include "tests/core/prove/guards_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/rules/guard_notes.h"
#include "core/rules/guard_records.h"
#include "tests/core/prove/guards.h"

namespace quotient::prove {
namespace {

// Prints findings as they come, and counts them.
class Report {
 public:
  void Add(const GuardedRule& guarded, const GuardFinding& finding) {
    const rules::RecordedGuard recorded = RecordOf(guarded, finding);
    std::printf("%-28s %2d %-40s %-23s %-10s  %s\n", guarded.rule.c_str(), guarded.left,
                guarded.guard.c_str(), NameOf(finding.need), NameOf(recorded.purpose),
                finding.why.c_str());
    std::fflush(stdout);
    Counts& counts = counts_[recorded.purpose];
    ++(recorded.is_needed ? counts.needed : counts.others);
    is_explained_ &= IsExplained(recorded);
    recorded_.push_back(recorded);
  }

  absl::StatusOr<bool> Finish(const std::string& record) const {
    if (!record.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(record));
      QUOTIENT_RETURN_IF_ERROR(file->Append(rules::ToText(recorded_)));
      QUOTIENT_RETURN_IF_ERROR(file->Commit());
    }
    Counts all;
    for (const auto& [purpose, counts] : counts_) {
      std::printf("%-10s %3d needed, %3d not refuted\n", NameOf(purpose), counts.needed,
                  counts.others);
      all.needed += counts.needed;
      all.others += counts.others;
    }
    std::printf("%d guards: %d needed, %d not refuted\n", all.needed + all.others, all.needed,
                all.others);
    return is_explained_;
  }

 private:
  struct Counts {
    int needed = 0;
    int others = 0;
  };
  std::map<rules::Purpose, Counts> counts_;
  std::vector<rules::RecordedGuard> recorded_;
  bool is_explained_ = true;
};

}  // namespace

absl::StatusOr<bool> RunGuards(const GuardsOptions& options) {
  Report report;
  for (const GuardedRule& guarded : AllGuards()) {
    if (!options.rules.empty() &&
        std::ranges::find(options.rules, guarded.rule) == options.rules.end()) {
      continue;
    }
    QUOTIENT_ASSIGN_OR_RETURN(const GuardFinding finding,
                              NeedOf(guarded, options.instances, options.seed));
    report.Add(guarded, finding);
  }
  return report.Finish(options.record);
}

}  // namespace quotient::prove
