// A timing store in a file. Queries are answered from memory. The file is read when it is opened,
// and records that other processes have added are read before every append. A writer takes an
// exclusive lock on the file (flock), cuts off an incomplete record that a dead writer may have
// left, and appends its own record in one write. Damaged bytes with whole records behind them are
// passed over and stay. Opening a file changes nothing in it.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "core/timing/file_lock.h"
#include "core/timing/frame.h"
#include "core/timing/memory_store.h"
#include "core/timing/record.h"

namespace quotient::timing {
namespace {

absl::Status Failure(const std::string& path, absl::string_view what) {
  return MakeError(Reason::kStorageDown,
                   absl::StrCat("timing file ", path, ": ", what, ": ", std::strerror(errno)));
}

class FileStore : public TimingStore {
 public:
  FileStore(std::string path, os::Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  absl::Status Open() {
    const absl::MutexLock lock(&mutex_);
    const FileLock file_lock(file_.get());
    if (!file_lock.held()) return Failure(path_, "lock");
    return ReadNewRecords();
  }

  std::optional<Timing> Find(absl::string_view key, absl::string_view fingerprint) const override {
    return memory_.Find(key, fingerprint);
  }

  std::map<std::string, Timing> All(absl::string_view fingerprint) const override {
    return memory_.All(fingerprint);
  }

  absl::Status Add(absl::string_view key, absl::string_view fingerprint,
                   const Timing& timing) override {
    QUOTIENT_RETURN_IF_ERROR(memory_.Add(key, fingerprint, timing));
    const std::string bytes = EncodeRecord({std::string(key), std::string(fingerprint), timing});
    const absl::MutexLock lock(&mutex_);
    const FileLock file_lock(file_.get());
    if (!file_lock.held()) return Failure(path_, "lock");
    QUOTIENT_RETURN_IF_ERROR(ReadNewRecords());
    QUOTIENT_RETURN_IF_ERROR(CutTail());
    if (end_ == 0) QUOTIENT_RETURN_IF_ERROR(Append(kFileMagic));
    return Append(bytes);
  }

 private:
  // Reads the records after end_, as far as there are whole ones.
  absl::Status ReadNewRecords() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t size, Size());
    if (size < end_) end_ = 0;  // The content was replaced.
    if (end_ == 0) QUOTIENT_RETURN_IF_ERROR(ReadMagic(size));
    if (end_ == 0) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes, Read(end_, size));
    absl::string_view rest = bytes;
    while (!rest.empty()) {
      const DecodeResult decoded = DecodeRecord(rest);
      size_t taken = decoded.size;
      if (decoded.outcome == DecodeResult::Outcome::kDamaged) {
        taken = BytesBeforeWholeFrame(rest);
        if (taken == rest.size()) break;
        Log().warn("timing file {}: {} bytes are damaged and are passed over", path_, taken);
      } else if (decoded.outcome == DecodeResult::Outcome::kRecord) {
        const Record& record = decoded.record;
        QUOTIENT_RETURN_IF_ERROR(memory_.Add(record.key, record.fingerprint, record.timing));
      }
      rest.remove_prefix(taken);
    }
    end_ += static_cast<int64_t>(bytes.size() - rest.size());
    return absl::OkStatus();
  }

  // Checks the magic bytes, and sets end_ behind them. Leaves it at 0 if the file is to begin anew:
  // because it is empty, was cut off during creation, or has the older format. Returns an error if
  // it is not a timing file.
  absl::Status ReadMagic(int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t head_size = std::min<int64_t>(size, kFileMagicSize);
    QUOTIENT_ASSIGN_OR_RETURN(const std::string head, Read(0, head_size));
    if (head == kOldFileMagic) return absl::OkStatus();
    if (absl::string_view(kFileMagic).substr(0, head.size()) != head) {
      return MakeError(Reason::kStorageDown,
                       absl::StrCat("timing file ", path_, ": is not a timing file"));
    }
    if (head.size() == kFileMagicSize) end_ = kFileMagicSize;
    return absl::OkStatus();
  }

  // Cuts off what lies behind the last record. Since the caller holds the file lock, only a writer
  // that died can have left it, or one that could not write all of a record.
  absl::Status CutTail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t size, Size());
    if (size == end_) return absl::OkStatus();
    if (ftruncate(file_.get(), end_) != 0) return Failure(path_, "truncate");
    Log().warn("timing file {}: {} bytes at its end were no record and are dropped", path_,
               size - end_);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Size() const {
    struct stat status;
    if (fstat(file_.get(), &status) != 0) return Failure(path_, "stat");
    return int64_t{status.st_size};
  }

  absl::StatusOr<std::string> Read(int64_t begin, int64_t end) const {
    std::string bytes(static_cast<size_t>(std::max<int64_t>(0, end - begin)), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = pread(file_.get(), bytes.data() + done, bytes.size() - done,
                                  begin + static_cast<int64_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Failure(path_, "read");
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    bytes.resize(done);
    return bytes;
  }

  // Writes all of it, or leaves the file as it was: on a full disk a part may fit. If that part
  // cannot be taken back either, the next writer does it.
  absl::Status Append(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Status written = os::WriteFullyAt(file_, bytes, end_, path_);
    if (written.ok()) {
      end_ += static_cast<int64_t>(bytes.size());
    } else if (ftruncate(file_.get(), end_) != 0) {
      Log().warn("timing file {}: a part of a record stays at its end", path_);
    }
    return written;
  }

  const std::string path_;
  const os::Fd file_;
  MemoryStore memory_;  // Thread-safe by itself.
  absl::Mutex mutex_;
  int64_t end_ ABSL_GUARDED_BY(mutex_) = 0;  // Offset up to which the file has been read.
};

}  // namespace

absl::StatusOr<std::unique_ptr<TimingStore>> OpenFileStore(const std::string& path) {
  os::Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return Failure(path, "open");
  auto store = std::make_unique<FileStore>(path, std::move(file));
  QUOTIENT_RETURN_IF_ERROR(store->Open());
  return store;
}

}  // namespace quotient::timing
