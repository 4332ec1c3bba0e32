#pragma once

// Encoding of a file of rule statistics.
//
//   file    = "QRULES1\n" record*
//   record  = a frame (frame.h) of the payload
//   payload = jobs:i64 last:i64 fingerprint_length:u32 num_rules:u32 fingerprint rule*
//   rule    = name_length:u32 version_length:u32 jobs:i64 jobs_won:i64 matches:i64 applied:i64
//             enodes:i64 uses:i64 saved:f64 saved_alone:f64 last:i64 name version
//
// A record has one device. Counts are from 0 to 2^53.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/timing/rule_store.h"

namespace quotient::timing {

inline constexpr char kRuleFileMagic[] = "QRULES1\n";
inline constexpr size_t kRuleFileMagicSize = 8;
// Texts have at least one byte and at most so many. Those of a table that is encoded do.
inline constexpr size_t kMostNameBytes = 128;  // Of a rule's name, and of its version.
inline constexpr size_t kMostFingerprintBytes = 4096;

// What is beyond the limits of a table (kMostRuleDevices) is left out, but never the device with
// the fingerprint `added`, if there is one.
std::string EncodeRuleTable(const RuleTable& table, absl::string_view added = "");
// Times later than this one become this one: a clock that was wrong must not keep what has them for
// ever.
void ClampTimes(int64_t now_unix_s, RuleTable* table);

struct DecodedRules {
  RuleTable table;
  size_t dropped = 0;  // Bytes that are no record, or a damaged one, or behind a damaged length.
};
// Accepts any bytes behind the magic ones, and any part of these alone as a file that was cut off.
// DATA_LOSS if the bytes are something else.
absl::StatusOr<DecodedRules> DecodeRuleTable(absl::string_view bytes);

}  // namespace quotient::timing
