#include "core/timing/record.h"

#include <cmath>
#include <utility>

#include "core/timing/frame.h"

namespace quotient::timing {
namespace {

constexpr size_t kFixedSize = 1 + 4 * 8 + 4 + 4 + 4;

std::optional<Record> DecodePayload(absl::string_view payload) {
  if (payload.size() < kFixedSize) return std::nullopt;
  Record record;
  Timing& timing = record.timing;
  const auto state = TakeNumber<uint8_t>(payload);
  if (state > static_cast<uint8_t>(TimingState::kNoisy)) return std::nullopt;
  timing.state = static_cast<TimingState>(state);
  for (double* number :
       {&timing.min_us, &timing.q25_us, &timing.median_us, &timing.relative_spread}) {
    *number = TakeNumber<double>(payload);
    if (!std::isfinite(*number) || *number < 0) return std::nullopt;
  }
  const auto samples = TakeNumber<uint32_t>(payload);
  if (samples > 1'000'000) return std::nullopt;
  timing.samples = static_cast<int>(samples);
  const auto key_size = TakeNumber<uint32_t>(payload);
  const auto plan_size = TakeNumber<uint32_t>(payload);
  if (uint64_t{key_size} + plan_size > payload.size()) return std::nullopt;
  record.key = std::string(payload.substr(0, key_size));
  timing.plan = std::string(payload.substr(key_size, plan_size));
  record.fingerprint = std::string(payload.substr(key_size + plan_size));
  return record;
}

}  // namespace

std::string EncodeRecord(const Record& record) {
  std::string payload;
  AppendNumber(static_cast<uint8_t>(record.timing.state), &payload);
  AppendNumber(record.timing.min_us, &payload);
  AppendNumber(record.timing.q25_us, &payload);
  AppendNumber(record.timing.median_us, &payload);
  AppendNumber(record.timing.relative_spread, &payload);
  AppendNumber(static_cast<uint32_t>(record.timing.samples), &payload);
  AppendNumber(static_cast<uint32_t>(record.key.size()), &payload);
  AppendNumber(static_cast<uint32_t>(record.timing.plan.size()), &payload);
  payload += record.key;
  payload += record.timing.plan;
  payload += record.fingerprint;
  return Framed(payload);
}

DecodeResult DecodeRecord(absl::string_view bytes) {
  using Outcome = DecodeResult::Outcome;
  const Frame frame = ReadFrame(bytes);
  if (frame.outcome == Frame::Outcome::kDamaged) return {};
  DecodeResult result{Outcome::kSkip, frame.size, {}};
  if (std::optional<Record> record = DecodePayload(frame.payload)) {
    result.outcome = Outcome::kRecord;
    result.record = *std::move(record);
  }
  return result;
}

}  // namespace quotient::timing
