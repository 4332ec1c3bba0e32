#include "core/kernels/cuda/code_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/os/files.h"

namespace quotient::kernels::cuda {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kMagic = "QTCODE1\n";
constexpr size_t kHeadSize = kMagic.size() + 2 * Digest::kSize;
constexpr size_t kNameDigits = 2 * Digest::kSize;

std::string Bytes(const Digest& digest) {
  return std::string(digest.bytes().begin(), digest.bytes().end());
}

std::string Head(const Digest& key, absl::string_view bytes) {
  return absl::StrCat(kMagic, Bytes(key), Bytes(Digest::Of(bytes)));
}

class FileCodeCache : public CodeCache {
 public:
  explicit FileCodeCache(std::string directory) : directory_(std::move(directory)) {}

  void Open(int64_t most_bytes) {
    Watch(os::MakeDirectories(directory_));
    try {
      Trim(most_bytes);
    } catch (const fs::filesystem_error& error) {
      Watch(absl::UnavailableError(error.what()));
    }
  }

  std::optional<std::string> Find(const std::string& key) override {
    const Digest digest = Digest::Of(key);
    const std::string path = PathOf(digest);
    struct stat there;
    if (stat(path.c_str(), &there) != 0) return std::nullopt;
    const absl::StatusOr<std::string> content = os::ReadFile(path);
    Watch(content.status());
    if (!content.ok()) return std::nullopt;
    if (content->size() < kHeadSize) return std::nullopt;
    std::string bytes = content->substr(kHeadSize);
    if (content->compare(0, kHeadSize, Head(digest, bytes)) != 0) return std::nullopt;
    // Sets the time of use for Trim. If the file belongs to someone else this may fail, which does
    // no harm.
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return bytes;
  }

  void Add(const std::string& key, const std::string& bytes) override { Watch(Write(key, bytes)); }

 private:
  std::string PathOf(const Digest& key) const { return absl::StrCat(directory_, "/", key.Hex()); }

  absl::Status Write(const std::string& key, const std::string& bytes) const {
    const Digest digest = Digest::Of(key);
    QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(PathOf(digest)));
    QUOTIENT_RETURN_IF_ERROR(file->Append(Head(digest, bytes)));
    QUOTIENT_RETURN_IF_ERROR(file->Append(bytes));
    return file->Commit();
  }

  // Removes the files that were used least recently, and files that a killed process left
  // half-written, whose names begin like those of entries. Throws.
  void Trim(int64_t most_bytes) const {
    struct Entry {
      fs::path path;
      fs::file_time_type used;
      int64_t bytes = 0;
    };
    std::vector<Entry> entries;
    std::error_code gone;  // Removed by another process.
    for (const fs::directory_entry& file : fs::directory_iterator(directory_)) {
      const std::string name = file.path().filename().string();
      if (!Digest::FromHex(absl::string_view(name).substr(0, kNameDigits)).has_value()) continue;
      Entry entry{.path = file.path(), .used = file.last_write_time(gone)};
      if (!gone) entry.bytes = static_cast<int64_t>(file.file_size(gone));
      if (!gone) entries.push_back(std::move(entry));
    }
    std::ranges::sort(entries, std::greater<>(), &Entry::used);
    int64_t bytes = 0;
    for (const Entry& entry : entries) {
      bytes += entry.bytes;
      if (bytes > most_bytes) fs::remove(entry.path, gone);
    }
  }

  void Watch(const absl::Status& status) {
    if (status.ok() || warned_.exchange(true)) return;
    Log().warn("what is compiled for the GPU is not kept: {}", std::string(status.message()));
  }

  const std::string directory_;
  std::atomic<bool> warned_ = false;
};

}  // namespace

std::unique_ptr<CodeCache> OpenCodeCache(const std::string& directory, int64_t most_bytes) {
  auto cache = std::make_unique<FileCodeCache>(directory);
  cache->Open(most_bytes);
  return cache;
}

}  // namespace quotient::kernels::cuda
