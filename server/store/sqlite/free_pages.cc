#include "server/store/sqlite/free_pages.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

constexpr int64_t kSpareBytes = int64_t{1} << 20;
// One copy in a temporary file, and one in the write-ahead log.
constexpr int64_t kCopies = 2;

absl::StatusOr<int64_t> ReadNumber(Database& database, const char* pragma) {
  int64_t number = 0;
  QUOTIENT_RETURN_IF_ERROR(database.Run(pragma, {}, [&](const Row& row) {
    number = row.Int(0);
    return absl::OkStatus();
  }));
  return number;
}

// Both copies are in the folder of the file.
bool HasRoomForCopies(const std::string& path, int64_t min_free_bytes) {
  std::error_code failure;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path, failure));
  if (failure) return false;
  const std::filesystem::space_info disk =
      std::filesystem::space(std::filesystem::absolute(path).parent_path(), failure);
  if (failure) return false;
  return (static_cast<int64_t>(disk.available) - min_free_bytes) / kCopies >= bytes;
}

}  // namespace

absl::StatusOr<PageCounts> ReadPageCounts(Database& database) {
  PageCounts pages;
  QUOTIENT_ASSIGN_OR_RETURN(pages.count, ReadNumber(database, "PRAGMA page_count"));
  QUOTIENT_ASSIGN_OR_RETURN(pages.free, ReadNumber(database, "PRAGMA freelist_count"));
  QUOTIENT_ASSIGN_OR_RETURN(pages.bytes, ReadNumber(database, "PRAGMA page_size"));
  return pages;
}

absl::Status AllowGivingBack(Database& database) {
  return database.Execute(
      "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_size_limit = 16777216;");
}

void RewriteToGiveBack(Database& database, const std::string& path, int64_t min_free_bytes) {
  const absl::StatusOr<int64_t> mode = ReadNumber(database, "PRAGMA auto_vacuum");
  if (!mode.ok() || *mode != 0) return;
  if (!HasRoomForCopies(path, min_free_bytes)) {
    Log().warn("the database never gets smaller, since the disk has no room to rewrite it once");
    return;
  }
  Log().info("the database is rewritten once, so that it can give room back");
  const absl::Status rewritten = database.Execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;");
  if (!rewritten.ok()) Log().warn("not rewritten: {}", std::string(rewritten.message()));
}

absl::StatusOr<int64_t> GiveBackPages(Database& database, int64_t most_bytes) {
  QUOTIENT_ASSIGN_OR_RETURN(const PageCounts before, ReadPageCounts(database));
  const int64_t spare = kSpareBytes / before.bytes;
  const int64_t count = std::min(before.free - spare, most_bytes / before.bytes);
  if (count <= 0) return 0;
  QUOTIENT_RETURN_IF_ERROR(
      database.Execute(absl::StrCat("PRAGMA incremental_vacuum(", count, ")").c_str()));
  QUOTIENT_ASSIGN_OR_RETURN(const PageCounts after, ReadPageCounts(database));
  if (after.free <= spare) {
    QUOTIENT_RETURN_IF_ERROR(database.Execute("PRAGMA wal_checkpoint(PASSIVE)"));
  }
  return (before.free - after.free) * before.bytes;
}

}  // namespace quotient::store
