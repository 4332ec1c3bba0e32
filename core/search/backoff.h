#pragma once

// Backoff: keeps explosive rules (associativity) from using up the room of the others. A rule that
// finds more matches than an iteration takes is banned for some iterations, each time twice as long
// as before. After each ban, an iteration takes twice as many of its matches as before. This is
// egg's BackoffScheduler, except that matches already found are kept.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace quotient::search {

class Backoff {
 public:
  static constexpr int64_t kNothingBanned = std::numeric_limits<int64_t>::max();

  explicit Backoff(size_t num_rules) : rules_(num_rules) {}

  bool banned(size_t rule, int64_t iteration) const {
    return iteration < rules_[rule].banned_until;
  }

  // How many matches of the rule an iteration takes; `limit` before its first ban.
  size_t Scaled(size_t rule, size_t limit) const {
    const int doublings = std::min(rules_[rule].times, kMaxDoublings);
    return std::min(limit, std::numeric_limits<size_t>::max() >> doublings) << doublings;
  }

  // Bans the rule, which had more matches than `iteration` took.
  void Ban(size_t rule, int64_t iteration) {
    State& state = rules_[rule];
    state.banned_until = iteration + 1 + (kFirstBan << std::min(state.times, kMaxDoublings));
    ++state.times;
  }

  // The first iteration after `iteration` in which a banned rule may run again; kNothingBanned if
  // no rule is banned.
  int64_t NextRelease(int64_t iteration) const {
    int64_t next = kNothingBanned;
    for (const State& state : rules_) {
      if (state.banned_until > iteration) next = std::min(next, state.banned_until);
    }
    return next;
  }

 private:
  struct State {
    int64_t banned_until = 0;
    int times = 0;
  };
  static constexpr int64_t kFirstBan = 2;
  static constexpr int kMaxDoublings = 20;

  std::vector<State> rules_;
};

}  // namespace quotient::search
