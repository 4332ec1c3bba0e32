#pragma once

// CodeCache: machine code that took long to compile, kept for the next process.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace quotient::kernels::cuda {

// Bytes by key. The key says all that they depend on: what is compiled, for which device, by which
// version of which library. Thread-safe. It only saves time, so nothing fails: what cannot be read
// is not there, and what cannot be written is compiled again another time.
class CodeCache {
 public:
  virtual ~CodeCache() = default;
  virtual std::optional<std::string> Find(const std::string& key) = 0;
  // Replaces what the key has.
  virtual void Add(const std::string& key, const std::string& bytes) = 0;
};

// A folder, made if missing, that several processes may use at once. A file for each entry, named
// by the SHA-256 of its key:
//
//   8 bytes    "QTCODE1\n"
//   32 bytes   SHA-256 of the key
//   32 bytes   SHA-256 of the rest
//   the rest   the entry's bytes
//
// A file that is damaged or something else is no entry, and is replaced when there is one. Those
// that were used last are kept, `most_bytes` of them at the time of opening. The first thing that
// goes wrong is logged. Not for folders that others can write: what is found there is run.
std::unique_ptr<CodeCache> OpenCodeCache(const std::string& directory,
                                         int64_t most_bytes = int64_t{1} << 30);

}  // namespace quotient::kernels::cuda
