// A timing store in a file. Queries are answered from memory. The file is read when it is opened,
// and records that other processes have added are read before every append. A writer takes an
// exclusive lock on the file (flock), cuts off an incomplete record that a dead writer may have
// left, and appends its own record in one write.

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
    return Append(bytes);
  }

 private:
  // Reads the records after end_ and cuts off an incomplete one. Since the caller holds the file
  // lock, only a writer that died can have left it.
  absl::Status ReadNewRecords() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    struct stat status;
    if (fstat(file_.get(), &status) != 0) return Failure(path_, "stat");
    if (status.st_size < end_) end_ = 0;  // The content was replaced.
    if (end_ == 0) QUOTIENT_RETURN_IF_ERROR(ReadMagic(status.st_size));
    QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes, Read(end_, status.st_size));
    absl::string_view rest = bytes;
    while (!rest.empty()) {
      DecodeResult decoded = DecodeRecord(rest);
      if (decoded.outcome == DecodeResult::Outcome::kShort) break;
      if (decoded.outcome == DecodeResult::Outcome::kRecord) {
        const Record& record = decoded.record;
        QUOTIENT_RETURN_IF_ERROR(memory_.Add(record.key, record.fingerprint, record.timing));
      }
      rest.remove_prefix(decoded.size);
    }
    end_ += static_cast<int64_t>(bytes.size() - rest.size());
    if (rest.empty()) return absl::OkStatus();
    Log().warn("timing file {}: {} bytes at its end are no record and are dropped", path_,
               rest.size());
    if (ftruncate(file_.get(), end_) != 0) return Failure(path_, "truncate");
    return absl::OkStatus();
  }

  // Checks the magic bytes. Writes them if the file is empty, or has the older format and is
  // therefore emptied. Returns an error if it is not a timing file.
  absl::Status ReadMagic(int64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int64_t head_size = std::min<int64_t>(size, kFileMagicSize);
    QUOTIENT_ASSIGN_OR_RETURN(const std::string head, Read(0, head_size));
    const bool is_old = head == kOldFileMagic;
    if (!is_old && absl::string_view(kFileMagic).substr(0, head.size()) != head) {
      return MakeError(Reason::kStorageDown,
                       absl::StrCat("timing file ", path_, ": is not a timing file"));
    }
    if (is_old) Log().warn("timing file {}: of an older version, so it begins anew", path_);
    if (is_old || head.size() < kFileMagicSize) {  // Old, new, or cut off during creation.
      if (ftruncate(file_.get(), 0) != 0) return Failure(path_, "truncate");
      return Append(kFileMagic);
    }
    end_ = kFileMagicSize;
    return absl::OkStatus();
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

  absl::Status Append(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ssize_t count;
    do count = pwrite(file_.get(), bytes.data(), bytes.size(), end_);
    while (count < 0 && errno == EINTR);
    if (count != static_cast<ssize_t>(bytes.size())) return Failure(path_, "write");
    end_ += count;
    return absl::OkStatus();
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
