#pragma once

// The one external data file of a written model: equal bytes lie in it once.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<std::pair<int64_t, absl::string_view>> pieces_;        // by offset
  absl::flat_hash_map<size_t, std::vector<size_t>> pieces_of_size_;  // size -> indices
};

}  // namespace quotient::onnx
