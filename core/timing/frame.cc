#include "core/timing/frame.h"

#include <cstdint>

#include "core/base/digest.h"

namespace quotient::timing {
namespace {

constexpr size_t kHeaderSize = 8;

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
  const bool whole = Checksum(payload) == checksum;
  return {whole ? Frame::Outcome::kWhole : Frame::Outcome::kDamaged, kHeaderSize + length, payload};
}

}  // namespace quotient::timing
