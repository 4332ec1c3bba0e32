#pragma once

// The envelope of a checkpoint, which tells whether the bytes are intact and belong to the same
// search. It does not depend on the content:
//
//   4 bytes   "QSC2": version of the envelope and the content
//   32 bytes  identity of the search: a digest of everything that decides what it does
//   32 bytes  digest of the content
//   the content
//
// This file also has the fields that different contents share.

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

// The identity of the strategy's search for the task from the workspace's present state. Searches
// of equal identity take the same steps; they differ only in how much time is left.
Digest SearchIdentity(absl::string_view strategy, Workspace& workspace, const Task& task);

std::string SealCheckpoint(const Digest& search, absl::string_view content);
// Returns the content, a part of `bytes`. FAILED_PRECONDITION if it belongs to another search or
// another format, DATA_LOSS if it is damaged.
absl::StatusOr<absl::string_view> OpenCheckpoint(const Digest& search, absl::string_view bytes);

// The largest counter accepted, so that adding to it cannot overflow.
inline constexpr uint64_t kMostCounted = uint64_t{1} << 60;
inline constexpr uint64_t kMostIndex = 0xffffffffu;
inline constexpr double kMostSeconds = 1e8;
inline constexpr double kAnyCost = std::numeric_limits<double>::infinity();

// Reads or writes an action. Its rule must be less than `num_rules`.
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
