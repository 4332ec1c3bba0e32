#include "core/timing/record.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/digest.h"

namespace quotient::timing {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr size_t kHeaderSize = 8;
constexpr size_t kFixedSize = 1 + 4 * 8 + 4 + 4 + 4;
constexpr uint32_t kMaxPayload = 1 << 20;

template <typename T>
void Append(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

// Removes a number from the front of `bytes`, which must be long enough.
template <typename T>
T Take(absl::string_view& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

uint32_t Checksum(absl::string_view payload) {
  uint32_t sum;
  std::memcpy(&sum, Digest::Of(payload).bytes().data(), sizeof(sum));
  return sum;
}

std::optional<Record> DecodePayload(absl::string_view payload) {
  if (payload.size() < kFixedSize) return std::nullopt;
  Record record;
  Timing& timing = record.timing;
  const auto state = Take<uint8_t>(payload);
  if (state > static_cast<uint8_t>(TimingState::kNoisy)) return std::nullopt;
  timing.state = static_cast<TimingState>(state);
  for (double* number :
       {&timing.min_us, &timing.q25_us, &timing.median_us, &timing.relative_spread}) {
    *number = Take<double>(payload);
    if (!std::isfinite(*number) || *number < 0) return std::nullopt;
  }
  const auto samples = Take<uint32_t>(payload);
  if (samples > 1'000'000) return std::nullopt;
  timing.samples = static_cast<int>(samples);
  const auto key_size = Take<uint32_t>(payload);
  const auto plan_size = Take<uint32_t>(payload);
  if (uint64_t{key_size} + plan_size > payload.size()) return std::nullopt;
  record.key = std::string(payload.substr(0, key_size));
  timing.plan = std::string(payload.substr(key_size, plan_size));
  record.fingerprint = std::string(payload.substr(key_size + plan_size));
  return record;
}

}  // namespace

std::string EncodeRecord(const Record& record) {
  std::string payload;
  Append(static_cast<uint8_t>(record.timing.state), &payload);
  Append(record.timing.min_us, &payload);
  Append(record.timing.q25_us, &payload);
  Append(record.timing.median_us, &payload);
  Append(record.timing.relative_spread, &payload);
  Append(static_cast<uint32_t>(record.timing.samples), &payload);
  Append(static_cast<uint32_t>(record.key.size()), &payload);
  Append(static_cast<uint32_t>(record.timing.plan.size()), &payload);
  payload += record.key;
  payload += record.timing.plan;
  payload += record.fingerprint;
  std::string bytes;
  Append(static_cast<uint32_t>(payload.size()), &bytes);
  Append(Checksum(payload), &bytes);
  return bytes + payload;
}

DecodeResult DecodeRecord(absl::string_view bytes) {
  using Outcome = DecodeResult::Outcome;
  if (bytes.size() < kHeaderSize) return {};
  const auto length = Take<uint32_t>(bytes);
  const auto checksum = Take<uint32_t>(bytes);
  if (length > kMaxPayload || length > bytes.size()) return {};
  const absl::string_view payload = bytes.substr(0, length);
  DecodeResult result{Outcome::kSkip, kHeaderSize + length, {}};
  if (Checksum(payload) != checksum) return result;
  if (std::optional<Record> record = DecodePayload(payload)) {
    result.outcome = Outcome::kRecord;
    result.record = *std::move(record);
  }
  return result;
}

}  // namespace quotient::timing
