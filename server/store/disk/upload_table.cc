#include "server/store/disk/upload_table.h"

#include <algorithm>

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
  uploads_[id] = {state, clock_.NowNs()};
}

absl::StatusOr<std::string> UploadTable::Reserve(const std::string& id, const UploadState& state,
                                                 int64_t room_bytes) {
  absl::MutexLock lock(&mutex_);
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<std::string> same, FindSame(state));
  if (same.has_value()) {
    uploads_[*same].idle_since_ns = clock_.NowNs();
    return *same;
  }
  QUOTIENT_RETURN_IF_ERROR(CheckLimits(state));
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(state, room_bytes));
  uploads_[id] = {state, clock_.NowNs()};
  return id;
}

absl::StatusOr<std::optional<std::string>> UploadTable::FindSame(const UploadState& state) const {
  const int64_t idle_since_ns = clock_.NowNs() - limits_.idle_ms * 1'000'000;
  int count = 0;
  std::optional<std::string> idle;
  for (const auto& [id, upload] : uploads_) {
    if (upload.state.blob != state.blob || upload.state.client != state.client) continue;
    ++count;
    if (upload.writers == 0 && upload.idle_since_ns <= idle_since_ns) idle = id;
  }
  if (count < limits_.max_open_per_blob) return std::nullopt;
  if (!idle.has_value()) {
    return TooMany(Reason::kQuotaCalls,
                   absl::StrCat(count, " uploads of this blob are in progress already"));
  }
  return idle;
}

absl::Status UploadTable::CheckLimits(const UploadState& state) const {
  if (static_cast<int>(uploads_.size()) >= limits_.max_open) {
    return TooMany(Reason::kQueueFull,
                   absl::StrCat(uploads_.size(), " uploads are in progress already"));
  }
  int count = 0;
  int64_t bytes = state.blob.size_bytes;
  for (const auto& [id, upload] : uploads_) {
    if (upload.state.client != state.client) continue;
    ++count;
    bytes += upload.reserved_bytes();
  }
  if (count >= limits_.max_open_per_client) {
    return TooMany(Reason::kQuotaCalls,
                   absl::StrCat(count, " uploads of this client are in progress already"));
  }
  if (count > 0 && bytes > limits_.max_bytes_per_client) {
    return TooMany(Reason::kQuotaCalls,
                   absl::StrCat("the uploads of this client would reserve ", bytes,
                                " bytes; the limit is ", limits_.max_bytes_per_client));
  }
  return absl::OkStatus();
}

absl::Status UploadTable::CheckRoom(const UploadState& state, int64_t room_bytes) const {
  int64_t own = state.blob.size_bytes - state.committed;
  int64_t others = 0;
  bool is_only = true;
  for (const auto& [id, upload] : uploads_) {
    const bool is_own = upload.state.client == state.client;
    (is_own ? own : others) += upload.reserved_bytes();
    if (is_own) is_only = false;
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

void UploadTable::SetCommitted(absl::string_view id, int64_t committed) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found != uploads_.end()) found->second.state.committed = committed;
}

void UploadTable::Remove(absl::string_view id) {
  absl::MutexLock lock(&mutex_);
  uploads_.erase(id);
}

void UploadTable::AddWriter(absl::string_view id, int change) {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end()) return;
  found->second.writers += change;
  found->second.idle_since_ns = clock_.NowNs();
}

bool UploadTable::HasWriter(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  const auto found = uploads_.find(id);
  return found != uploads_.end() && found->second.writers > 0;
}

jobs::UploadLoad UploadTable::Load() const {
  absl::MutexLock lock(&mutex_);
  return {static_cast<int>(uploads_.size()), ReservedBytes()};
}

int64_t UploadTable::BytesOf(absl::string_view client, const BlobId& except) const {
  absl::MutexLock lock(&mutex_);
  absl::flat_hash_set<Digest> seen = {except.digest};
  int64_t bytes = 0;
  for (const auto& [id, upload] : uploads_) {
    const BlobId& blob = upload.state.blob;
    if (upload.state.client == client && seen.insert(blob.digest).second) bytes += blob.size_bytes;
  }
  return bytes;
}

}  // namespace quotient::store
