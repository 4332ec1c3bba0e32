#pragma once

// The external data file of a written model. It contains equal tensors only once.

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace quotient::onnx {

class DataFile {
 public:
  static constexpr int64_t kAlignment = 64;  // A cache line; enough for any vector load.

  // Returns the offset of these bytes in the file. They are borrowed until Write.
  int64_t Place(absl::string_view bytes);

  bool is_used() const { return !offsets_.empty(); }

  // Returns the whole file, with zeros as padding between tensors.
  std::string Write() const;

 private:
  int64_t size_ = 0;
  absl::flat_hash_map<absl::string_view, int64_t> offsets_;  // By the bytes at that offset.
};

}  // namespace quotient::onnx
