#pragma once

// What both ends of runner.proto agree on besides the messages.

#include <cstdint>
#include <string>

namespace quotient::runner {

// The version of the messages.
inline constexpr int kProtocol = 8;

// Checkpoints are in messages.
inline constexpr uint32_t kMostMessageBytes = 256 << 20;

// What the names of temporary folders of jobs begin with, in $TMPDIR or /tmp.
inline constexpr char kTempName[] = "quotient-job-";
// Where a job leaves the statistics of rules in its outbox (timing::RuleStore). "" for no outbox.
inline std::string RulesIn(const std::string& outbox) {
  return outbox.empty() ? "" : outbox + "/rules.db";
}

// The exit status of a process that had no memory left.
inline constexpr int kExitOutOfMemory = 3;

}  // namespace quotient::runner
