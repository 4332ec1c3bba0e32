#pragma once

// One observation as bytes of a timing file.
//
//   file    = "QTIMING2" record*
//   record  = length:u32 checksum:u32 payload        all numbers little-endian
//   payload = state:u8 min:f64 q25:f64 median:f64 spread:f64 samples:u32
//             key_length:u32 plan_length:u32 key plan fingerprint
//
// `length` counts the payload's bytes; `checksum` is its first four bytes of SHA-256.

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/timing/store.h"

namespace quotient::timing {

inline constexpr char kFileMagic[] = "QTIMING2";
// Of files without plans: all there is to lose in them is time.
inline constexpr char kOldFileMagic[] = "QTIMING1";
inline constexpr size_t kFileMagicSize = 8;

struct Record {
  std::string key;
  std::string fingerprint;
  Timing timing;
};

std::string EncodeRecord(const Record& record);

// What the front of `bytes` holds.
struct DecodeResult {
  enum class Outcome {
    kRecord,
    kSkip,   // whole, but not one of ours: checksum or content is wrong
    kShort,  // the end is missing, or the length makes no sense: nothing behind it can be read
  };
  Outcome outcome = Outcome::kShort;
  size_t size = 0;  // bytes to go on by, unless kShort
  Record record;    // if kRecord
};
DecodeResult DecodeRecord(absl::string_view bytes);

}  // namespace quotient::timing
