#include "core/kernels/cuda/run_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/fingerprint.h"
#include "core/kernels/cuda/orderly_end.h"
#include "core/os/files.h"
#include "core/os/random_id.h"

namespace quotient::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr char kRunning[] = "running-";
constexpr char kBarred[] = "barred";
constexpr size_t kDeviceDigits = 12;

// The complete lines of a text. An incomplete line was being written when its process died, before
// anything ran.
std::vector<std::string> LinesOf(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

class FileRunJournal : public RunJournal {
 public:
  FileRunJournal(const std::string& directory, const std::string& fingerprint)
      : directory_(directory),
        device_(Digest::Of(WithoutDriverPatch(fingerprint)).Hex().substr(0, kDeviceDigits)) {}

  void Open() {
    const absl::MutexLock lock(&mutex_);
    Watch(OpenOwn());
    if (own_.valid()) Watch(BarWhatWasLeft());
    Watch(ReadBarred());
  }

  // What lost the GPU is still listed as running. The next process finds it there.
  ~FileRunJournal() override {
    if (own_.valid() && running_.empty()) unlink(own_path_.c_str());
  }

  bool IsBarred(const std::string& way) const override {
    const absl::MutexLock lock(&mutex_);
    return barred_.count(LineOf(way)) > 0;
  }

  bool Begin(const std::vector<std::string>& ways) override {
    const absl::MutexLock lock(&mutex_);
    const size_t before = running_.size();
    for (const std::string& way : ways) {
      if (returned_.count(way) == 0) running_.insert(LineOf(way));
    }
    if (running_.size() == before) return false;
    WriteRunning();
    return true;
  }

  void Returned(const std::vector<std::string>& ways) override {
    const absl::MutexLock lock(&mutex_);
    for (const std::string& way : ways) {
      running_.erase(LineOf(way));
      returned_.insert(way);
    }
    WriteRunning();
  }

  bool HasReturned(const std::string& way) const override {
    const absl::MutexLock lock(&mutex_);
    return returned_.count(way) > 0;
  }

 private:
  std::string LineOf(const std::string& way) const {
    return absl::StrCat(device_, "\t", absl::StrReplaceAll(way, {{"\n", "\t"}}));
  }

  absl::Status OpenOwn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(directory_));
    own_path_ = absl::StrCat(directory_, "/", kRunning, getpid(), "-", os::RandomId());
    QUOTIENT_ASSIGN_OR_RETURN(os::Fd file,
                              os::OpenFile(own_path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC));
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return os::ErrnoError("flock", own_path_);
    own_ = std::move(file);
    orderly_end_.emplace(own_.get());
    return absl::OkStatus();
  }

  // Takes over the files of processes that have ended.
  absl::Status BarWhatWasLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::error_code gone;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory_, gone)) {
      const std::string path = entry.path().string();
      if (!absl::StartsWith(os::BaseName(path), kRunning) || path == own_path_) continue;
      QUOTIENT_RETURN_IF_ERROR(TakeOver(path));
    }
    return absl::OkStatus();
  }

  absl::Status TakeOver(const std::string& path) const {
    absl::StatusOr<os::Fd> file = os::OpenFile(path, O_RDONLY | O_CLOEXEC);
    if (!file.ok()) return absl::OkStatus();  // Another process was faster.
    if (flock(file->get(), LOCK_EX | LOCK_NB) != 0) return absl::OkStatus();  // Its owner is alive.
    QUOTIENT_ASSIGN_OR_RETURN(const std::string left, os::ReadFile(path));
    std::string lines;
    for (const std::string& line : LinesOf(left)) {
      Log().warn("it is not run again, as a process did not come back from it: {}", Escaped(line));
      absl::StrAppend(&lines, line, "\n");
    }
    const std::string barred = absl::StrCat(directory_, "/", kBarred);
    QUOTIENT_ASSIGN_OR_RETURN(const os::Fd list,
                              os::OpenFile(barred, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC));
    QUOTIENT_RETURN_IF_ERROR(os::WriteFully(list, lines, barred));
    unlink(path.c_str());
    return absl::OkStatus();
  }

  absl::Status ReadBarred() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string path = absl::StrCat(directory_, "/", kBarred);
    if (access(path.c_str(), F_OK) != 0) return absl::OkStatus();
    QUOTIENT_ASSIGN_OR_RETURN(const std::string text, os::ReadFile(path));
    for (std::string& line : LinesOf(text)) barred_.insert(std::move(line));
    return absl::OkStatus();
  }

  // A few hundred bytes. They are not synced: what a process wrote survives its death, and when the
  // machine crashes the folder is often lost, too.
  void WriteRunning() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!own_.valid()) return;
    std::string text;
    for (const std::string& line : running_) absl::StrAppend(&text, line, "\n");
    if (ftruncate(own_.get(), 0) != 0) return Watch(os::ErrnoError("ftruncate", own_path_));
    Watch(os::WriteFullyAt(own_, text, 0, own_path_));
  }

  void Watch(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (status.ok() || warned_) return;
    warned_ = true;
    Log().warn("kernels that kill the GPU are not written down: {}", std::string(status.message()));
  }

  const std::string directory_;
  const std::string device_;
  mutable absl::Mutex mutex_;
  std::string own_path_ ABSL_GUARDED_BY(mutex_);
  os::Fd own_ ABSL_GUARDED_BY(mutex_);
  // Empties own_ if a signal ends the process.
  std::optional<OrderlyEnd> orderly_end_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> barred_ ABSL_GUARDED_BY(mutex_);   // Lines.
  std::set<std::string> running_ ABSL_GUARDED_BY(mutex_);  // Lines.
  std::set<std::string> returned_ ABSL_GUARDED_BY(mutex_);
  bool warned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<RunJournal> OpenRunJournal(const std::string& directory,
                                           const std::string& fingerprint) {
  auto journal = std::make_unique<FileRunJournal>(directory, fingerprint);
  journal->Open();
  return journal;
}

std::string JournalName(absl::string_view kernel_key, absl::string_view way) {
  return absl::StrCat(way, "\n", kernel_key);
}

}  // namespace quotient::kernels::cuda
