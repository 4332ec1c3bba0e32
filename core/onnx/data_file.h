#pragma once

// The external data file of a written model.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace quotient::onnx {

class DataFile {
 public:
  static constexpr int64_t kAlignment = 64;  // A cache line; enough for any vector load.

  // Returns the offset of these bytes in the file, which has equal ones only once. They are
  // borrowed until Write.
  int64_t Place(absl::string_view bytes);
  // The same, but these bytes get a place of their own.
  int64_t Append(absl::string_view bytes);
  // The same, but the first `begin` bytes come last.
  int64_t AppendRotated(absl::string_view bytes, size_t begin);

  bool is_used() const { return !parts_.empty(); }

  // What the file consists of, in order, with zeros as padding in between.
  struct Part {
    int64_t offset = 0;
    absl::string_view bytes;
  };
  const std::vector<Part>& parts() const { return parts_; }
  int64_t size() const { return size_; }

  // Returns the whole file.
  std::string Write() const;

 private:
  int64_t size_ = 0;
  std::vector<Part> parts_;
  absl::flat_hash_map<absl::string_view, int64_t> offsets_;  // Of what Place placed.
};

}  // namespace quotient::onnx
