#include "server/store/disk/upload_table.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

// What a client with several uploads may have of the room that others have not reserved, in
// quarters.
constexpr int64_t kQuartersOfClient = 3;

absl::Status TooMany(Reason reason, absl::string_view what) {
  return MakeError(reason, absl::StrCat(what, "; try again when some have ended"));
}

}  // namespace

void UploadTable::Restore(const std::string& id, const UploadState& state) {
  absl::MutexLock lock(&mutex_);
  const bool has_place = places_.all() < limits_.max_open;
  uploads_[id] = {.state = state, .news_ns = clock_.NowNs(), .has_place = has_place};
  if (has_place) places_.Add(state.client);
}

absl::StatusOr<UploadTable::Reservation> UploadTable::Reserve(const std::string& id,
                                                              const UploadState& state,
                                                              int64_t room_bytes) {
  absl::MutexLock lock(&mutex_);
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<std::string> same, FindSame(state));
  if (same.has_value()) {
    uploads_[*same].news_ns = clock_.NowNs();
    return GivePlace(*same, room_bytes);
  }
  QUOTIENT_RETURN_IF_ERROR(CheckCount(state.client));
  uploads_[id] = {.state = state, .news_ns = clock_.NowNs()};
  absl::StatusOr<Reservation> reservation = GivePlace(id, room_bytes);
  if (!reservation.ok()) uploads_.erase(id);
  return reservation;
}

absl::StatusOr<UploadTable::Reservation> UploadTable::ReserveAgain(absl::string_view id,
                                                                   int64_t room_bytes) {
  absl::MutexLock lock(&mutex_);
  return GivePlace(std::string(id), room_bytes);
}

absl::StatusOr<UploadTable::Reservation> UploadTable::GivePlace(const std::string& id,
                                                                int64_t room_bytes) {
  Reservation reservation{.id = id};
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || found->second.has_place) return reservation;
  Upload& upload = found->second;
  QUOTIENT_RETURN_IF_ERROR(CheckBytes(upload.state));
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(upload.state, room_bytes));
  if (places_.all() >= limits_.max_open) {
    QUOTIENT_ASSIGN_OR_RETURN(reservation.given_up, TakePlaceFor(id, upload.state.client));
  }
  upload.has_place = true;
  places_.Add(upload.state.client);
  return reservation;
}

absl::StatusOr<std::optional<std::string>> UploadTable::TakePlaceFor(absl::string_view id,
                                                                     absl::string_view client) {
  const int64_t now_ns = clock_.NowNs();
  auto* const chosen = places_.WhoGivesWay(
      uploads_, client, [now_ns](const auto& entry) -> std::optional<jobs::FairPlaces::Holder> {
        const Upload& upload = entry.second;
        if (!upload.has_place) return std::nullopt;
        return jobs::FairPlaces::Holder{upload.state.client, now_ns - upload.news_ns};
      });
  if (chosen == nullptr) {
    return TooMany(Reason::kQueueFull,
                   absl::StrCat(places_.all(), " uploads are in progress already"));
  }
  Upload& loser = chosen->second;
  loser.has_place = false;
  places_.Remove(loser.state.client);
  const bool has_nothing = loser.writers == 0 && loser.state.committed == 0;
  const int64_t without_place = std::ssize(uploads_) - places_.all() - 1;  // But for `id`.
  std::optional<std::string> given_up;
  if (has_nothing) {
    given_up = chosen->first;
  } else if (without_place > limits_.max_open) {
    given_up = LongestWithoutPlace(id);
  }
  if (given_up.has_value()) uploads_.erase(*given_up);
  return given_up;
}

std::optional<std::string> UploadTable::LongestWithoutPlace(absl::string_view except) const {
  std::optional<std::string> longest;
  int64_t news_ns = std::numeric_limits<int64_t>::max();
  for (const auto& [id, upload] : uploads_) {
    const bool may_go = !upload.has_place && upload.writers == 0 && id != except;
    if (!may_go || upload.news_ns >= news_ns) continue;
    news_ns = upload.news_ns;
    longest = id;
  }
  return longest;
}

absl::StatusOr<std::optional<std::string>> UploadTable::FindSame(const UploadState& state) const {
  const int64_t idle_since_ns = clock_.NowNs() - limits_.idle_ms * 1'000'000;
  int count = 0;
  std::optional<std::string> idle;
  for (const auto& [id, upload] : uploads_) {
    if (upload.state.blob != state.blob || upload.state.client != state.client) continue;
    ++count;
    if (upload.writers == 0 && upload.news_ns <= idle_since_ns) idle = id;
  }
  if (count < limits_.max_open_per_blob) return std::nullopt;
  if (!idle.has_value()) {
    return TooMany(Reason::kQuotaCalls,
                   absl::StrCat(count, " uploads of this blob are in progress already"));
  }
  return idle;
}

absl::Status UploadTable::CheckCount(absl::string_view client) const {
  const auto count = std::count_if(uploads_.begin(), uploads_.end(), [client](const auto& entry) {
    return entry.second.state.client == client;
  });
  if (count < limits_.max_open_per_client) return absl::OkStatus();
  return TooMany(Reason::kQuotaCalls,
                 absl::StrCat(count, " uploads of this client are in progress already"));
}

absl::Status UploadTable::CheckBytes(const UploadState& state) const {
  int64_t bytes = state.blob.size_bytes - state.committed;
  for (const auto& [id, upload] : uploads_) {
    if (upload.state.client == state.client) bytes += upload.reserved_bytes();
  }
  if (places_.Of(state.client) > 0 && bytes > limits_.max_bytes_per_client) {
    return TooMany(Reason::kQuotaCalls,
                   absl::StrCat("the uploads of this client would reserve ", bytes,
                                " bytes; the limit is ", limits_.max_bytes_per_client));
  }
  return absl::OkStatus();
}

absl::Status UploadTable::CheckRoom(const UploadState& state, int64_t room_bytes) const {
  int64_t own = state.blob.size_bytes - state.committed;
  int64_t others = 0;
  const bool is_only = places_.Of(state.client) == 0;
  for (const auto& [id, upload] : uploads_) {
    (upload.state.client == state.client ? own : others) += upload.reserved_bytes();
  }
  // A file that is large for this disk can only be sent if it may have more than a share.
  const auto most = [&](int64_t bytes) {
    const int64_t share = bytes / 4 * kQuartersOfClient;
    return is_only ? std::max(share, bytes - limits_.rest_bytes) : share;
  };
  if (own <= most(room_bytes - others)) return absl::OkStatus();
  if (own <= most(room_bytes)) {
    return TooMany(Reason::kQueueFull,
                   absl::StrCat("uploads of other clients have reserved ", others, " of the ",
                                room_bytes, " bytes that the server's disk has for uploads"));
  }
  if (is_only) {
    return MakeError(
        Reason::kStorageDown,
        absl::StrCat("the server's disk has ", room_bytes, " bytes for uploads, of which one may ",
                     "have ", most(room_bytes), "; this one needs ", own));
  }
  return MakeError(
      Reason::kQuotaCalls,
      absl::StrCat("the uploads of this client would reserve ", own, " of the ", room_bytes,
                   " bytes that the server's disk has for uploads; one client may have ",
                   most(room_bytes)));
}

int64_t UploadTable::ReservedBytes() const {
  int64_t bytes = 0;
  for (const auto& [id, upload] : uploads_) bytes += upload.reserved_bytes();
  return bytes;
}

absl::Status UploadTable::NoteNews(absl::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return absl::OkStatus();
  found->second.news_ns = clock_.NowNs();
  if (found->second.has_place) return absl::OkStatus();
  return MakeError(Reason::kQueueFull, "this upload gave way to others; resume it later");
}

void UploadTable::SetCommitted(absl::string_view id, int64_t committed) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found != uploads_.end()) found->second.state.committed = committed;
}

void UploadTable::Remove(absl::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return;
  if (found->second.has_place) places_.Remove(found->second.state.client);
  uploads_.erase(found);
}

void UploadTable::AddWriter(absl::string_view id, int change) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return;
  found->second.writers += change;
  found->second.news_ns = clock_.NowNs();
}

bool UploadTable::HasWriter(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  return found != uploads_.end() && found->second.writers > 0;
}

jobs::UploadLoad UploadTable::Load() const {
  absl::MutexLock lock(&mutex_);
  return {places_.all(), ReservedBytes()};
}

int64_t UploadTable::BytesOf(absl::string_view client, std::span<const BlobId> except) const {
  absl::flat_hash_set<Digest> seen;
  for (const BlobId& blob : except) seen.insert(blob.digest);
  absl::MutexLock lock(&mutex_);
  int64_t bytes = 0;
  for (const auto& [id, upload] : uploads_) {
    const BlobId& blob = upload.state.blob;
    if (upload.state.client == client && seen.insert(blob.digest).second) bytes += blob.size_bytes;
  }
  return bytes;
}

}  // namespace quotient::store
