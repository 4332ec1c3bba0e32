#include "server/store/disk/upload_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "core/os/files.h"
#include "core/os/random_id.h"
#include "server/store/disk/upload_state.h"

namespace quotient::store {
namespace {

constexpr char kStateSuffix[] = ".state";
constexpr int64_t kReadAgainBytes = 1 << 20;

std::string StatePath(absl::string_view path) { return absl::StrCat(path, kStateSuffix); }

absl::Status NoSuchUpload() { return absl::NotFoundError("no such upload; start it again"); }

}  // namespace

class DiskUploadWriter : public jobs::UploadWriter {
 public:
  struct Where {
    std::string upload_id;
    std::string path;
    std::shared_ptr<DiskUploadStore::Turn> turn;
    int64_t number;  // The value of turn->holder at which this writer may write.
  };

  DiskUploadWriter(DiskUploadStore* store, Where where, os::Fd fd, const UploadState& state,
                   Digester digester)
      : store_(*store),
        where_(std::move(where)),
        fd_(std::move(fd)),
        state_(state),
        written_(state.committed),
        digester_(std::move(digester)) {
    store_.table_.AddWriter(where_.upload_id, 1);
  }

  ~DiskUploadWriter() override {
    if (Flush().ok() && !finished_) {
      store_.KeepHashed(where_.upload_id, {written_, std::move(digester_)});
    }
    store_.table_.AddWriter(where_.upload_id, -1);
  }

  absl::Status Append(absl::string_view bytes) override {
    absl::MutexLock lock(&where_.turn->mutex);
    QUOTIENT_RETURN_IF_ERROR(CheckTurn());
    if (static_cast<int64_t>(bytes.size()) > state_.blob.size_bytes - written_) {
      return MakeError(Reason::kLimitBytes,
                       absl::StrCat("more bytes than the ", state_.blob.size_bytes, " announced"));
    }
    QUOTIENT_RETURN_IF_ERROR(store_.table_.NoteNews(where_.upload_id));
    QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd_, bytes, where_.path));
    os::FaultPoint("upload.written");
    Hash(bytes);
    written_ += static_cast<int64_t>(bytes.size());
    if (written_ - state_.committed < DiskUploadStore::kCommitEveryBytes) return absl::OkStatus();
    QUOTIENT_RETURN_IF_ERROR(Commit());
    // What others have stored since the upload was begun may have left no room for the rest.
    return store_.blobs_.CheckFree(0);
  }

  int64_t committed_offset() const override { return state_.committed; }

  absl::Status Flush() override {
    if (finished_ || written_ == state_.committed) return absl::OkStatus();
    absl::MutexLock lock(&where_.turn->mutex);
    QUOTIENT_RETURN_IF_ERROR(CheckTurn());
    return Commit();
  }

  absl::Status Finish() override {
    QUOTIENT_RETURN_IF_ERROR(Flush());
    absl::MutexLock lock(&where_.turn->mutex);
    QUOTIENT_RETURN_IF_ERROR(CheckTurn());
    finished_ = true;
    const BlobId received{digester_.Finish(), written_};
    if (received != state_.blob) {
      store_.Remove(where_.upload_id);
      return MakeError(Reason::kBadDigest, absl::StrCat("received ", received.Text(),
                                                        ", announced ", state_.blob.Text()));
    }
    os::FaultPoint("upload.hashed");
    QUOTIENT_RETURN_IF_ERROR(store_.Adopt(where_.path, state_));
    os::FaultPoint("upload.adopted");
    store_.Remove(where_.upload_id);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(where_.turn->mutex) {
    if (where_.turn->holder == where_.number) return absl::OkStatus();
    return absl::AbortedError("another stream has taken this upload over");
  }

  void Hash(absl::string_view bytes) {
    const auto turn = store_.hash_turns_.Take();
    digester_.Update(bytes);
  }

  // Syncs the bytes, and then writes the state that declares them durable.
  absl::Status Commit() {
    QUOTIENT_RETURN_IF_ERROR(os::Sync(fd_, where_.path));
    os::FaultPoint("upload.synced");
    UploadState state = state_;
    state.committed = written_;
    QUOTIENT_RETURN_IF_ERROR(WriteUploadState(StatePath(where_.path), state));
    os::FaultPoint("upload.committed");
    state_ = state;
    store_.table_.SetCommitted(where_.upload_id, written_);
    return absl::OkStatus();
  }

  DiskUploadStore& store_;
  const Where where_;
  const os::Fd fd_;
  UploadState state_;
  int64_t written_;
  Digester digester_;
  bool finished_ = false;
};

absl::StatusOr<std::unique_ptr<DiskUploadStore>> DiskUploadStore::Open(
    const std::string& path, DiskBlobStore* blobs, const UploadLimits& limits,
    HashTurns* hash_turns, const Clock* clock, jobs::SentBlobs* sent) {
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(path));
  std::unique_ptr<DiskUploadStore> store(
      new DiskUploadStore(path, blobs, limits, hash_turns, clock, sent));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids, store->Ids());
  for (const std::string& id : ids) {
    const absl::StatusOr<UploadState> state = ReadUploadState(StatePath(path + "/" + id));
    if (state.ok()) store->table_.Restore(id, *state);
  }
  if (sent != nullptr) {
    sent->SetInTransit([&table = store->table_](absl::string_view client, auto except) {
      return table.BytesOf(client, except);
    });
  }
  return store;
}

// Upload ids are hexadecimal numbers made by Start; other text could be a path.
absl::StatusOr<std::string> DiskUploadStore::PathOf(absl::string_view upload_id) const {
  for (char c : upload_id) {
    if (!absl::ascii_isdigit(c) && !(c >= 'a' && c <= 'f')) return NoSuchUpload();
  }
  if (upload_id.empty()) return NoSuchUpload();
  return absl::StrCat(path_, "/", upload_id);
}

std::shared_ptr<DiskUploadStore::Turn> DiskUploadStore::TurnOf(absl::string_view upload_id) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Turn>& turn = turns_[upload_id];
  if (turn == nullptr) turn = std::make_shared<Turn>();
  return turn;
}

void DiskUploadStore::KeepHashed(absl::string_view upload_id, Hashed hashed) {
  absl::MutexLock lock(&mutex_);
  // Not of an upload that was removed meanwhile.
  if (turns_.contains(upload_id))
    hashed_.insert_or_assign(std::string(upload_id), std::move(hashed));
}

absl::StatusOr<Digester> DiskUploadStore::TakeHashed(absl::string_view upload_id, const os::Fd& fd,
                                                     int64_t size) {
  {
    absl::MutexLock lock(&mutex_);
    auto kept = hashed_.extract(upload_id);
    if (!kept.empty() && kept.mapped().offset == size) return std::move(kept.mapped().digester);
  }
  Digester digester;
  for (int64_t offset = 0; offset < size;) {
    const int64_t count = std::min(kReadAgainBytes, size - offset);
    QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes,
                              os::ReadFullyAt(fd, offset, static_cast<size_t>(count), upload_id));
    const auto turn = hash_turns_.Take();
    digester.Update(absl::string_view(bytes));
    offset += count;
  }
  return digester;
}

void DiskUploadStore::Remove(absl::string_view upload_id) {
  const absl::StatusOr<std::string> path = PathOf(upload_id);
  if (!path.ok()) return;
  // The state file is removed last, because Expire finds uploads by their state files.
  unlink(path->c_str());
  os::FaultPoint("upload.half_removed");
  unlink(StatePath(*path).c_str());
  table_.Remove(upload_id);
  absl::MutexLock lock(&mutex_);
  hashed_.erase(upload_id);
  turns_.erase(upload_id);
}

absl::StatusOr<jobs::UploadTicket> DiskUploadStore::Start(const BlobId& blob,
                                                          absl::string_view client) {
  jobs::BlobStore& kept = sent_ != nullptr ? static_cast<jobs::BlobStore&>(*sent_) : blobs_;
  QUOTIENT_RETURN_IF_ERROR(kept.Use(blob).status());
  QUOTIENT_ASSIGN_OR_RETURN(const bool present, blobs_.Holds(blob));
  if (present) return jobs::UploadTicket{.committed_offset = blob.size_bytes, .done = true};
  QUOTIENT_RETURN_IF_ERROR(blobs_.CheckRoom(blob.size_bytes));
  const std::string new_id = os::RandomId();
  const UploadState state{.blob = blob, .client = std::string(client)};
  QUOTIENT_RETURN_IF_ERROR(CheckQuota(state));
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t room_bytes, blobs_.RoomBytes());
  QUOTIENT_ASSIGN_OR_RETURN(const UploadTable::Reservation reservation,
                            table_.Reserve(new_id, state, room_bytes));
  if (reservation.given_up.has_value()) Remove(*reservation.given_up);
  const std::string& id = reservation.id;
  if (id == new_id) {
    if (absl::Status begun = Begin(id, state); !begun.ok()) {
      Remove(id);
      return begun;
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t committed, CommittedOffset(id));
  return jobs::UploadTicket{.upload_id = id, .committed_offset = committed};
}

absl::Status DiskUploadStore::CheckQuota(const UploadState& state) const {
  return sent_ == nullptr ? absl::OkStatus() : sent_->CheckQuota(state.blob, state.client);
}

absl::Status DiskUploadStore::Adopt(const std::string& path, const UploadState& state) {
  if (sent_ == nullptr) return blobs_.Adopt(path, state.blob);
  QUOTIENT_RETURN_IF_ERROR(
      sent_->Store({&state.blob, 1}, state.client, [&] { return blobs_.Adopt(path, state.blob); }));
  sent_->Arrived(state.blob);
  return absl::OkStatus();
}

absl::Status DiskUploadStore::Begin(const std::string& id, const UploadState& state) const {
  // Calls that came at the same time may have passed the first check together, and now see each
  // other.
  QUOTIENT_RETURN_IF_ERROR(CheckQuota(state));
  return CreateFiles(id, state);
}

absl::Status DiskUploadStore::CreateFiles(const std::string& id, const UploadState& state) const {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(id));
  // The state file is written first, because uploads are found by their state files.
  QUOTIENT_RETURN_IF_ERROR(WriteUploadState(StatePath(path), state));
  os::FaultPoint("upload.half_created");
  QUOTIENT_RETURN_IF_ERROR(os::OpenFile(path, O_WRONLY | O_CREAT | O_EXCL).status());
  os::FaultPoint("upload.created");
  return os::SyncDirectory(path_);
}

absl::StatusOr<int64_t> DiskUploadStore::CommittedOffset(absl::string_view upload_id) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(upload_id));
  QUOTIENT_ASSIGN_OR_RETURN(const UploadState state, ReadUploadState(StatePath(path)));
  // A crash between Adopt and Remove leaves a state file without its upload.
  if (access(path.c_str(), F_OK) != 0) return NoSuchUpload();
  return state.committed;
}

absl::StatusOr<std::unique_ptr<jobs::UploadWriter>> DiskUploadStore::Resume(
    absl::string_view upload_id, int64_t offset) {
  QUOTIENT_RETURN_IF_ERROR(CommittedOffset(upload_id).status());
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(upload_id));
  DiskUploadWriter::Where where{std::string(upload_id), path, TurnOf(upload_id), 0};
  absl::MutexLock lock(&where.turn->mutex);
  QUOTIENT_ASSIGN_OR_RETURN(const UploadState state, ReadUploadState(StatePath(path)));
  if (offset != state.committed) {
    return MakeError(Reason::kUploadOffset,
                     absl::StrCat("the upload stands at ", state.committed, ", not at ", offset));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const int64_t room_bytes, blobs_.RoomBytes());
  QUOTIENT_ASSIGN_OR_RETURN(const UploadTable::Reservation reservation,
                            table_.ReserveAgain(upload_id, room_bytes));
  if (reservation.given_up.has_value()) Remove(*reservation.given_up);
  QUOTIENT_ASSIGN_OR_RETURN(os::Fd fd, os::OpenFile(path, O_RDWR));
  if (ftruncate(fd.get(), state.committed) != 0) return os::ErrnoError("truncate", path);
  QUOTIENT_ASSIGN_OR_RETURN(Digester digester, TakeHashed(upload_id, fd, state.committed));
  if (lseek(fd.get(), state.committed, SEEK_SET) < 0) return os::ErrnoError("seek", path);
  where.number = ++where.turn->holder;
  return std::make_unique<DiskUploadWriter>(this, std::move(where), std::move(fd), state,
                                            std::move(digester));
}

absl::StatusOr<std::vector<std::string>> DiskUploadStore::Ids() const {
  DIR* const folder = opendir(path_.c_str());
  if (folder == nullptr) return os::ErrnoError("open", path_);
  std::vector<std::string> ids;
  while (const dirent* entry = readdir(folder)) {
    absl::string_view name = entry->d_name;
    if (absl::ConsumeSuffix(&name, kStateSuffix)) ids.emplace_back(name);
  }
  closedir(folder);
  return ids;
}

absl::Status DiskUploadStore::Expire(int64_t unix_ms, int64_t empty_unix_ms) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids());
  for (const std::string& id : ids) {
    const std::string file = StatePath(absl::StrCat(path_, "/", id));
    struct stat status;
    if (table_.HasWriter(id) || stat(file.c_str(), &status) != 0) continue;
    const absl::StatusOr<UploadState> state = ReadUploadState(file);
    const bool is_empty = state.ok() && state->committed == 0;
    const int64_t before_ms = is_empty ? std::max(unix_ms, empty_unix_ms) : unix_ms;
    if (int64_t{status.st_mtim.tv_sec} * 1000 < before_ms) Remove(id);
  }
  return absl::OkStatus();
}

}  // namespace quotient::store
