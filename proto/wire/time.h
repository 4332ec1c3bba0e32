#pragma once

// Reads times from messages, which may hold any numbers.

#include <cstdint>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace quotient::wire {

// What these are in milliseconds, rounded up. Beyond about 30,000 years in either direction they
// are the limit.
int64_t Milliseconds(const google::protobuf::Duration& duration);
int64_t UnixMilliseconds(const google::protobuf::Timestamp& time);

}  // namespace quotient::wire
