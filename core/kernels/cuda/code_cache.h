#pragma once

// CodeCache: machine code that took long to compile, kept for the next process.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace quotient::kernels::cuda {

// Bytes by key. The key must contain everything that the bytes depend on: what is compiled, for
// which device, by which version of which library. Thread-safe. The cache only saves time, so its
// methods do not fail: an entry that cannot be read is missing, and one that cannot be written is
// compiled again.
class CodeCache {
 public:
  virtual ~CodeCache() = default;
  virtual std::optional<std::string> Find(const std::string& key) = 0;
  // Replaces the key's entry.
  virtual void Add(const std::string& key, const std::string& bytes) = 0;
};

// A cache in a folder, which is made if missing and may be used by several processes at once. Each
// entry is a file named by the SHA-256 of its key:
//
//   8 bytes    "QTCODE1\n"
//   32 bytes   SHA-256 of the key
//   32 bytes   SHA-256 of the rest
//   the rest   the entry's bytes
//
// A damaged or foreign file is not an entry; it is replaced when there is one. When the folder is
// opened, the most recently used files are kept, up to `most_bytes`. Only the first failure is
// logged. The folder must not be writable by others, because its content is executed.
std::unique_ptr<CodeCache> OpenCodeCache(const std::string& directory,
                                         int64_t most_bytes = int64_t{1} << 30);

}  // namespace quotient::kernels::cuda
