#pragma once

// Tells every long-running stage when to end: on request, or when time is up. Why it ended is a
// value, not an error.
//
// There are two requests. Cancel wants no result: everything ends. Finish wants the result that can
// be had soon: what works within a budget ends as if the budget were used up, and what has to be
// done all the same goes on.

#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/strings/string_view.h"
#include "core/base/clock.h"

namespace quotient {

enum class StopReason {
  kNone,        // Do not stop.
  kSaturated,   // No rule has anything left to do.
  kExhausted,   // A search has tried all it had room for; there may be more.
  kCancelled,   // The token was set.
  kDeadline,    // Time is up.
  kNodeLimit,   // The e-graph reached its node limit.
  kIterations,  // The iteration limit was reached.
};

inline absl::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kSaturated:
      return "saturated";
    case StopReason::kExhausted:
      return "exhausted";
    case StopReason::kCancelled:
      return "cancelled";
    case StopReason::kDeadline:
      return "deadline";
    case StopReason::kNodeLimit:
      return "node_limit";
    case StopReason::kIterations:
      return "iterations";
  }
  return "none";
}

// Set to request that work end; read by the workers. A request cannot be taken back. Thread-safe.
class CancelToken {
 public:
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // The first request counts, by the clock of the work.
  void Finish(const Clock& clock) {
    int64_t none = kNever;
    finish_ns_.compare_exchange_strong(none, clock.NowNs(), std::memory_order_relaxed);
  }
  bool finishing() const { return finish_ns() != kNever; }
  // When it was requested; kNever if it was not.
  int64_t finish_ns() const { return finish_ns_.load(std::memory_order_relaxed); }

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> finish_ns_{kNever};
};

// A token and a deadline. Cheap to copy. Borrows the token, which may be null, and the clock. Only
// conditions of a budget (WithBudget) heed CancelToken::Finish.
class StopCondition {
 public:
  // Never stops.
  StopCondition() = default;
  StopCondition(const CancelToken* token, const Clock& clock, int64_t deadline_ns)
      : token_(token), clock_(&clock), deadline_ns_(deadline_ns) {}
  // Stops `seconds` from now, too.
  static StopCondition Within(const CancelToken* token, const Clock& clock, double seconds) {
    StopCondition stop = StopCondition(token).WithBudget(clock, seconds);
    stop.is_budget_ = false;
    return stop;
  }
  // Stops only when the token is set.
  explicit StopCondition(const CancelToken* token) : token_(token) {}

  // The same token, with a deadline `seconds` from now unless this one's is earlier.
  StopCondition WithBudget(const Clock& clock, double seconds) const {
    StopCondition within = *this;
    within.clock_ = &clock;
    within.is_budget_ = true;
    if (seconds < 1e9) {
      const int64_t own = clock.NowNs() + static_cast<int64_t>(seconds * 1e9);
      if (own < deadline_ns_) within.deadline_ns_ = own;
    }
    return within;
  }

  // The same token, with the first of `parts` equal parts of the remaining time.
  StopCondition Share(int64_t parts) const {
    StopCondition share = *this;
    if (deadline_ns_ == kNever) return share;
    const int64_t now = clock_->NowNs();
    share.deadline_ns_ = now + (deadline_ns_ - now) / parts;
    return share;
  }

  // The same with the deadline, if there is one, moved `seconds` earlier.
  StopCondition EarlierBy(double seconds) const {
    StopCondition earlier = *this;
    if (deadline_ns_ != kNever) earlier.deadline_ns_ -= static_cast<int64_t>(seconds * 1e9);
    return earlier;
  }

  // The same token without a deadline, for what has to be done even when time is up: neither this
  // nor a budget that it is given heeds CancelToken::Finish.
  StopCondition WithoutDeadline() const {
    StopCondition late(token_);
    late.ignores_finish_ = true;
    return late;
  }

  // Returns kNone, kCancelled or kDeadline.
  StopReason Check() const {
    if (token_ != nullptr && token_->cancelled()) return StopReason::kCancelled;
    if (is_budget_ && !ignores_finish_ && finishing()) return StopReason::kDeadline;
    if (deadline_ns_ != kNever && clock_->NowNs() >= deadline_ns_) return StopReason::kDeadline;
    return StopReason::kNone;
  }
  bool ShouldStop() const { return Check() != StopReason::kNone; }
  bool cancelled() const { return token_ != nullptr && token_->cancelled(); }
  // Whether CancelToken::Finish was called, whatever this condition makes of it.
  bool finishing() const { return finish_ns() != kNever; }
  // When that was; kNever if it was not.
  int64_t finish_ns() const { return token_ == nullptr ? kNever : token_->finish_ns(); }

  static constexpr int64_t kNever = CancelToken::kNever;

 private:
  const CancelToken* token_ = nullptr;
  const Clock* clock_ = nullptr;  // Null only if there is no deadline.
  int64_t deadline_ns_ = kNever;
  bool is_budget_ = false;
  bool ignores_finish_ = false;
};

}  // namespace quotient
