#pragma once

// Encoding of a timing file, in which each record is one observation.
//
//   file    = "QTIMING2" record*
//   record  = a frame (frame.h) of the payload
//   payload = state:u8 min:f64 q25:f64 median:f64 spread:f64 samples:u32
//             key_length:u32 plan_length:u32 key plan fingerprint
//
// The fingerprint takes the rest of the payload.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/timing/store.h"

namespace quotient::timing {

inline constexpr char kFileMagic[] = "QTIMING2";
// Format 1 had no plans. Its files are emptied, since the timings can be measured again.
inline constexpr char kOldFileMagic[] = "QTIMING1";
inline constexpr size_t kFileMagicSize = 8;

struct Record {
  std::string key;
  std::string fingerprint;
  Timing timing;
};

std::string EncodeRecord(const Record& record);

// The record at the beginning of `bytes`.
struct DecodeResult {
  enum class Outcome {
    kRecord,
    kSkip,     // The frame is whole, but its content is no record.
    kDamaged,  // The frame is damaged, so that nothing tells where the next one begins.
  };
  Outcome outcome = Outcome::kDamaged;
  size_t size = 0;  // Size of the record with its header, unless kDamaged.
  Record record;    // Set if kRecord.
};
DecodeResult DecodeRecord(absl::string_view bytes);

}  // namespace quotient::timing
