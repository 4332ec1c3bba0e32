#include "server/jobs/ledger.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"

namespace quotient::jobs {

absl::StatusOr<std::optional<Job>> Ledger::Edit::FindReadable(const std::string& id) {
  absl::StatusOr<std::optional<Job>> found = store_.Find(id);
  if (GetReason(found.status()) != Reason::kInternal) return found;
  Log().error("job {} is left out from now on: {}", id, std::string(found.status().message()));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<JobState> state, store_.SetAside(id));
  if (state.has_value()) news_.set_aside.emplace_back(id, *state);
  return std::nullopt;
}

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

absl::Status Ledger::Edit::Note(Job* job, absl::string_view actor, absl::string_view reason) {
  return Record(job, job->state, actor, reason);
}

absl::Status Ledger::Edit::Remove(const Job& job, RemovalCause cause) {
  QUOTIENT_RETURN_IF_ERROR(store_.Remove(job.id));
  news_.removals.emplace_back(job, cause);
  return absl::OkStatus();
}

void Ledger::Edit::Submitted(const Job& job, Disposition disposition) {
  news_.submissions.emplace_back(job, disposition);
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
  if (IsTerminal(to)) job->end_ms = job->use_ms = transition.time_ms;
  QUOTIENT_RETURN_IF_ERROR(store_.Put(*job));
  os::FaultPoint("ledger.half_written");
  QUOTIENT_RETURN_IF_ERROR(store_.Append(transition));
  news_.changes.push_back({*job, std::move(transition)});
  return absl::OkStatus();
}

void Ledger::AddObserver(JobObserver* observer) {
  absl::MutexLock lock(&observers_mutex_);
  observers_.push_back(observer);
}

absl::Status Ledger::Write(absl::FunctionRef<absl::Status(Edit&)> write) {
  QUOTIENT_RETURN_IF_ERROR(Commit(write));
  TellNews();
  os::FaultPoint("ledger.told");
  return absl::OkStatus();
}

absl::Status Ledger::Commit(absl::FunctionRef<absl::Status(Edit&)> write) {
  absl::MutexLock lock(&commit_mutex_);
  Edit::News news;
  QUOTIENT_RETURN_IF_ERROR(store_.Write([&](JobTransaction& transaction) -> absl::Status {
    Edit edit(transaction);
    QUOTIENT_RETURN_IF_ERROR(write(edit));
    news = std::move(edit.news_);
    os::FaultPoint("ledger.written");
    return absl::OkStatus();
  }));
  os::FaultPoint("ledger.committed");
  absl::MutexLock news_lock(&news_mutex_);
  news_.push_back(std::move(news));
  return absl::OkStatus();
}

void Ledger::TellNews() {
  absl::MutexLock lock(&observers_mutex_);
  while (const std::optional<Edit::News> news = NextNews()) {
    for (JobObserver* observer : observers_) {
      for (const Edit::Change& change : news->changes) {
        observer->OnTransition(change.job, change.transition);
      }
      for (const auto& [job, disposition] : news->submissions) {
        observer->OnSubmission(job, disposition);
      }
      for (const auto& [job, cause] : news->removals) observer->OnRemoval(job, cause);
      for (const auto& [id, state] : news->set_aside) observer->OnSetAside(id, state);
    }
  }
}

std::optional<Ledger::Edit::News> Ledger::NextNews() {
  absl::MutexLock lock(&news_mutex_);
  if (news_.empty()) return std::nullopt;
  Edit::News news = std::move(news_.front());
  news_.pop_front();
  return news;
}

}  // namespace quotient::jobs
