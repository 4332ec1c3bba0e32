#include "proto/wire/time.h"

#include <algorithm>
#include <cmath>

namespace quotient::wire {
namespace {

constexpr int64_t kMostSeconds = 1'000'000'000'000;

int64_t ToMs(int64_t seconds, int32_t nanos) {
  return std::clamp(seconds, -kMostSeconds, kMostSeconds) * 1000 +
         static_cast<int64_t>(std::ceil(1e-6 * nanos));
}

}  // namespace

int64_t Milliseconds(const google::protobuf::Duration& duration) {
  return ToMs(duration.seconds(), duration.nanos());
}

int64_t UnixMilliseconds(const google::protobuf::Timestamp& time) {
  return ToMs(time.seconds(), time.nanos());
}

}  // namespace quotient::wire
