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
    kDamaged,  // It is cut off, or its payload, its checksum or its length is wrong.
  };
  Outcome outcome = Outcome::kDamaged;
  size_t size = 0;            // Size of the frame with its header, if kWhole.
  absl::string_view payload;  // A part of the bytes, if kWhole.
};
Frame ReadFrame(absl::string_view bytes);

// How many bytes lie before the first whole frame in some bytes; all of them if there is none. What
// follows a damaged frame is found by this, because the checksum does not cover the length, so that
// a length may be wrong without being impossible. Linear but for bytes that look like the lengths
// of many large frames; it gives up before these take seconds.
size_t BytesBeforeWholeFrame(absl::string_view bytes);

}  // namespace quotient::timing
