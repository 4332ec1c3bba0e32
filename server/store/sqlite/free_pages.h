#pragma once

// The room in a database file: what is used, what removed rows have left free, and how the latter
// goes back to the disk. SQLite uses free pages again, and never makes a file smaller by itself.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/sqlite/database.h"

namespace quotient::store {

struct PageCounts {
  int64_t count = 0;  // Of the file, with what the write-ahead log has of it.
  int64_t free = 0;
  int64_t bytes = 0;  // Of one page.
};

absl::StatusOr<PageCounts> ReadPageCounts(Database& database);

// Makes a file that is new one that can give pages back, and bounds what the write-ahead log keeps
// of the disk. To be called before anything is written.
absl::Status AllowGivingBack(Database& database);

// Makes an older file such a one, too. It is rewritten for that, once, if the disk has room for the
// copies besides `min_free_bytes`; if not, or if that fails, the log says so, and the file only
// never gets smaller.
void RewriteToGiveBack(Database& database, const std::string& path, int64_t min_free_bytes);

// Gives at most so many bytes of free pages back to the disk and returns how many. A mebibyte stays
// free for jobs to come. In the write-ahead log, the file itself gets smaller with the next
// checkpoint, which is made when no more is to be given back.
absl::StatusOr<int64_t> GiveBackPages(Database& database, int64_t most_bytes);

}  // namespace quotient::store
