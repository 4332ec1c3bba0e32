#include "server/jobs/ledger.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {

absl::Status Ledger::Edit::Add(Job* job, absl::string_view actor) {
  job->state = JobState::kQueued;
  job->create_ms = store_.now_ms();
  return Record(job, JobState::kQueued, actor, "submitted");
}

absl::Status Ledger::Edit::Move(Job* job, JobEvent event, absl::string_view actor,
                                absl::string_view reason) {
  const std::optional<JobState> next =
      NextState(job->state, event, /*attempts_left=*/job->attempt < kMaxAttempts);
  if (!next.has_value()) {
    return MakeError(Reason::kInternal, absl::StrCat("job ", job->id, ": ", reason, " in state ",
                                                     JobStateName(job->state)));
  }
  if (*next == job->state) return absl::OkStatus();
  return Record(job, *next, actor, reason);
}

void Ledger::Edit::Submitted(const Job& job, Disposition disposition) {
  submissions_.emplace_back(job, disposition);
}

absl::Status Ledger::Edit::Record(Job* job, JobState to, absl::string_view actor,
                                  absl::string_view reason) {
  Transition transition{.job_id = job->id,
                        .sequence = job->sequence + 1,
                        .time_ms = store_.now_ms(),
                        .from = job->state,
                        .to = to,
                        .actor = std::string(actor),
                        .reason = std::string(reason)};
  job->state = to;
  job->sequence = transition.sequence;
  if (IsTerminal(to)) job->end_ms = transition.time_ms;
  QUOTIENT_RETURN_IF_ERROR(store_.Put(*job));
  QUOTIENT_RETURN_IF_ERROR(store_.Append(transition));
  changes_.push_back({*job, std::move(transition)});
  return absl::OkStatus();
}

void Ledger::AddObserver(JobObserver* observer) {
  absl::MutexLock lock(&mutex_);
  observers_.push_back(observer);
}

absl::Status Ledger::Write(absl::FunctionRef<absl::Status(Edit&)> write) {
  absl::MutexLock lock(&mutex_);
  std::vector<Edit::Change> changes;
  std::vector<std::pair<Job, Disposition>> submissions;
  QUOTIENT_RETURN_IF_ERROR(store_.Write([&](JobTransaction& transaction) -> absl::Status {
    Edit edit(transaction);
    QUOTIENT_RETURN_IF_ERROR(write(edit));
    changes = std::move(edit.changes_);
    submissions = std::move(edit.submissions_);
    return absl::OkStatus();
  }));
  for (JobObserver* observer : observers_) {
    for (const Edit::Change& change : changes)
      observer->OnTransition(change.job, change.transition);
    for (const auto& [job, disposition] : submissions) observer->OnSubmission(job, disposition);
  }
  return absl::OkStatus();
}

}  // namespace quotient::jobs
