#include "proto/wire/time.h"

#include <algorithm>
#include <cmath>

#include "google/protobuf/util/time_util.h"

namespace quotient::wire {
namespace {

using google::protobuf::util::TimeUtil;

// TimeUtil ends the process when it is asked to write a time outside of its limits.
int64_t ToMs(int64_t seconds, int32_t nanos, int64_t least_seconds, int64_t most_seconds) {
  const int64_t ms = std::clamp(seconds, least_seconds, most_seconds) * 1000 +
                     static_cast<int64_t>(std::ceil(1e-6 * nanos));
  return std::clamp(ms, least_seconds * 1000, most_seconds * 1000);
}

}  // namespace

int64_t Milliseconds(const google::protobuf::Duration& duration) {
  return ToMs(duration.seconds(), duration.nanos(), TimeUtil::kDurationMinSeconds,
              TimeUtil::kDurationMaxSeconds);
}

int64_t UnixMilliseconds(const google::protobuf::Timestamp& time) {
  return ToMs(time.seconds(), time.nanos(), TimeUtil::kTimestampMinSeconds,
              TimeUtil::kTimestampMaxSeconds);
}

}  // namespace quotient::wire
