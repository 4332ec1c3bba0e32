#pragma once

// CodeCache: machine code that took long to compile, kept for the next process.

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

}  // namespace quotient::kernels::cuda
