#pragma once

// The one external data file of a written model: equal bytes lie in it once.

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace quotient::onnx {

class DataFile {
 public:
  static constexpr int64_t kAlignment = 64;  // a cache line; enough for any vector load

  // The offset at which these bytes are; they are borrowed until Write.
  int64_t Place(absl::string_view bytes);

  // The whole file, padded with zeros between tensors.
  std::string Write() const;

 private:
  int64_t size_ = 0;
  absl::flat_hash_map<absl::string_view, int64_t> offsets_;  // by the bytes that lie there
};

}  // namespace quotient::onnx
