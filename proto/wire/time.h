#pragma once

// Reads times from messages, which may hold any numbers.

#include <cstdint>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace quotient::wire {

// What these are in milliseconds, rounded up. Beyond what the messages may hold, which is about
// 10,000 years in either direction, and the years 1 to 9999, they are the limit; so what they
// return can always be written again.
int64_t Milliseconds(const google::protobuf::Duration& duration);
int64_t UnixMilliseconds(const google::protobuf::Timestamp& time);

}  // namespace quotient::wire
