#pragma once

// Reads times from messages, which may hold any numbers.

#include <cstdint>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace quotient::wire {

// These times in milliseconds, rounded up, and cut to what protobuf allows: about 10,000 years in
// either direction for durations, and the years 1 to 9999. So they can always be written again.
int64_t Milliseconds(const google::protobuf::Duration& duration);
int64_t UnixMilliseconds(const google::protobuf::Timestamp& time);

}  // namespace quotient::wire
