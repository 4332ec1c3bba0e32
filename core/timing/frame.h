#pragma once

// Records in files: a length and a checksum before the bytes of each record, so that a damaged
// record is noticed and skipped.
//
//   frame = length:u32 checksum:u32 payload          all numbers little-endian
//
// `length` is the size of the payload in bytes; `checksum` is the first four bytes of the payload's
// SHA-256.

#include <bit>
#include <cstddef>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::timing {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

// The largest payload that is read.
inline constexpr size_t kMaxFramePayload = size_t{1} << 20;

template <typename T>
void AppendNumber(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// Removes a number from the front of `bytes`, which must be long enough.
template <typename T>
T TakeNumber(absl::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

std::string Framed(absl::string_view payload);

// The frame at the beginning of some bytes.
struct Frame {
  enum class Outcome {
    kWhole,
    kDamaged,  // The frame is complete, but its checksum is wrong.
    kShort,    // The frame is cut off or its length is impossible: nothing after it can be read.
  };
  Outcome outcome = Outcome::kShort;
  size_t size = 0;            // Size of the frame with its header, unless kShort.
  absl::string_view payload;  // A part of the bytes, unless kShort.
};
Frame ReadFrame(absl::string_view bytes);

}  // namespace quotient::timing
