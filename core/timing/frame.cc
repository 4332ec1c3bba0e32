#include "core/timing/frame.h"

#include <algorithm>
#include <cstdint>

#include "core/base/digest.h"

namespace quotient::timing {
namespace {

constexpr size_t kHeaderSize = 8;
// How many bytes are hashed in search of a whole frame.
constexpr size_t kMostHashed = size_t{1} << 28;

uint32_t Checksum(absl::string_view payload) {
  uint32_t sum;
  std::memcpy(&sum, Digest::Of(payload).bytes().data(), sizeof(sum));
  return sum;
}

}  // namespace

std::string Framed(absl::string_view payload) {
  std::string bytes;
  AppendNumber(static_cast<uint32_t>(payload.size()), &bytes);
  AppendNumber(Checksum(payload), &bytes);
  bytes.append(payload.data(), payload.size());
  return bytes;
}

Frame ReadFrame(absl::string_view bytes) {
  if (bytes.size() < kHeaderSize) return {};
  const auto length = TakeNumber<uint32_t>(bytes);
  const auto checksum = TakeNumber<uint32_t>(bytes);
  if (length > kMaxFramePayload || length > bytes.size()) return {};
  const absl::string_view payload = bytes.substr(0, length);
  if (Checksum(payload) != checksum) return {};
  return {Frame::Outcome::kWhole, kHeaderSize + length, payload};
}

size_t BytesBeforeWholeFrame(absl::string_view bytes) {
  size_t hashed = 0;
  for (size_t begin = 0; begin + kHeaderSize <= bytes.size() && hashed < kMostHashed; ++begin) {
    absl::string_view rest = bytes.substr(begin);
    if (ReadFrame(rest).outcome == Frame::Outcome::kWhole) return begin;
    const size_t length = TakeNumber<uint32_t>(rest);
    hashed += length <= std::min(kMaxFramePayload, rest.size()) ? length : 0;
  }
  return bytes.size();
}

}  // namespace quotient::timing
