#pragma once

// What checkpoints of a search have in common, whatever is in them: an envelope that tells whether
// the bytes are whole and of the same search.
//
//   4 bytes  "QSC2": the format, with that of what is inside
//   32       which search: a digest of all that decides what it does
//   32       digest of the rest
//   the rest
//
// Also the fields that their insides have in common.

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/search/field_stream.h"
#include "core/search/strategy.h"
#include "core/search/walk.h"

namespace quotient::search {

// Of the strategy's search by the task from the workspace's present state: what a path leads to,
// and what is tried next, depend on nothing else but the time that is left.
Digest SearchIdentity(absl::string_view strategy, Workspace& workspace, const Task& task);

std::string SealCheckpoint(const Digest& search, absl::string_view content);
// The content, as part of `bytes`. FAILED_PRECONDITION if it is of another search or another
// format, DATA_LOSS if it is damaged.
absl::StatusOr<absl::string_view> OpenCheckpoint(const Digest& search, absl::string_view bytes);

// Counters cannot overflow when something is added to them.
inline constexpr uint64_t kMostCounted = uint64_t{1} << 60;
inline constexpr uint64_t kMostIndex = 0xffffffffu;
inline constexpr double kMostSeconds = 1e8;
inline constexpr double kAnyCost = std::numeric_limits<double>::infinity();

// Of one of so many rules.
template <typename Stream, typename TheAction>
void VisitAction(Stream& stream, TheAction& action, size_t num_rules) {
  stream.Number(action.kind, static_cast<uint64_t>(Action::Kind::kGrow));
  stream.Number(action.rule, num_rules == 0 ? 0 : num_rules - 1);
  stream.Number(action.amount, Action::kToTheLimit);
}
template <typename Stream, typename Actions>
void VisitActions(Stream& stream, Actions& actions, size_t num_rules) {
  stream.List(actions, 3, [&](auto& action) { VisitAction(stream, action, num_rules); });
}

template <typename Stream, typename TheState>
void VisitState(Stream& stream, TheState& state) {
  stream.Real(state.cost, -kAnyCost, kAnyCost);
  stream.Number(state.enodes, kMostCounted);
  stream.Number(state.changed, 1);
  stream.Number(state.saturated, 1);
  stream.Number(state.full, 1);
}

}  // namespace quotient::search
