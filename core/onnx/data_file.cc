#include "core/onnx/data_file.h"

#include <cstring>

namespace quotient::onnx {

int64_t DataFile::Place(absl::string_view bytes) {
  for (size_t index : pieces_of_size_[bytes.size()]) {
    const auto& [offset, piece] = pieces_[index];
    if (piece.data() == bytes.data() || piece == bytes) return offset;
  }
  const int64_t offset = (size_ + kAlignment - 1) / kAlignment * kAlignment;
  pieces_of_size_[bytes.size()].push_back(pieces_.size());
  pieces_.emplace_back(offset, bytes);
  size_ = offset + static_cast<int64_t>(bytes.size());
  return offset;
}

std::string DataFile::Write() const {
  std::string file(static_cast<size_t>(size_), '\0');
  for (const auto& [offset, piece] : pieces_) {
    if (!piece.empty()) std::memcpy(&file[static_cast<size_t>(offset)], piece.data(), piece.size());
  }
  return file;
}

}  // namespace quotient::onnx
