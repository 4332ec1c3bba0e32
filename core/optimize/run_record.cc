#include "core/optimize/run_record.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"

namespace quotient::optimize {

absl::Status RunRecord::Begin(absl::string_view phase) {
  if (job_.stop.cancelled()) return Cancelled();
  if (job_.stop.ShouldStop()) {
    return MakeError(Reason::kRunBudget, absl::StrCat("time was up before the phase ", phase));
  }
  progress_.phase = std::string(phase);
  progress_.detail.clear();
  progress_.best_share = 0;
  ReportProgress(0);
  return absl::OkStatus();
}

void RunRecord::End(absl::string_view phase, double seconds) {
  report_.phase_seconds[std::string(phase)] = seconds;
  ReportProgress(1);
  Log().info("phase {} took {:.2f} s", progress_.phase, seconds);
}

void RunRecord::ReportSearch(double fraction, double best_share, int64_t enodes) {
  progress_.enodes = enodes;
  progress_.best_share = best_share;
  ReportProgress(fraction);
}

void RunRecord::Note(std::vector<std::string> notes) {
  std::ranges::move(notes, std::back_inserter(report_.notes));
}

void RunRecord::NoteFailure(absl::string_view what, const absl::Status& status) {
  // An error of any other kind is due to the model.
  const bool is_defect = absl::IsInternal(status);
  const std::string note =
      absl::StrCat(what, is_defect ? " (please report this model): " : ": ", status.message());
  // Several candidates may fail in the same way.
  if (std::ranges::find(report_.notes, note) != report_.notes.end()) return;
  is_defect ? Log().error("{}", Escaped(note)) : Log().warn("{}", Escaped(note));
  Note(note);
}

void RunRecord::NoteRescue(const Rescued& rescued) {
  if (rescued.names_are_forgotten) {
    Note(
        "the model uses the size of one input for another, so dimensions of one name were not "
        "taken to be equal");
  }
  for (const Refused& refused : rescued.refused) NoteRefused(refused);
  for (const std::string& rule : rescued.culprits) {
    Log().warn("the rule {} was left out for this model", rule);
    Note(absl::StrCat("the rule '", rule,
                      "' was left out: with it, what was found did not agree with the original"));
  }
  if (rescued.time_was_up) {
    Note("time was up before all wrong rules were found");
  } else if (!rescued.ended.ok()) {
    NoteFailure("no wrong rule could be found", rescued.ended);
  }
}

// That a rewrite relies on names is no defect, because the standard allows it.
void RunRecord::NoteRefused(const Refused& refused) {
  if (refused.breaks_names) {
    NoteFailure(
        "a candidate was thrown away, as it needs sizes of one name to be equal where the "
        "original does not",
        absl::FailedPreconditionError(refused.failure));
  } else {
    NoteFailure("a candidate did not agree with the original and was thrown away",
                absl::InternalError(refused.failure));
  }
}

void RunRecord::ReportProgress(double fraction) {
  if (sink_ == nullptr) return;
  progress_.fraction = fraction;
  progress_.elapsed_seconds = clock_.SecondsSince(start_ns_);
  sink_->Report(progress_);
}

}  // namespace quotient::optimize
