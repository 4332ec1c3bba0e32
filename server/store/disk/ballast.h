#pragma once

// A file that only takes room. On a disk that others have filled, not even a job can be deleted,
// since that is a write, too. Then the file is removed, and the database has its room.

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace quotient::store {

constexpr int64_t kBallastBytes = int64_t{8} << 20;

// Removes the file if the disk has less free than it takes, and makes it if the disk has enough
// beside what has to stay free, anew if it takes less than it should. To be called now and then, by
// any thread.
absl::Status TendBallast(const std::string& path, int64_t free_bytes, int64_t min_free_bytes);

}  // namespace quotient::store
