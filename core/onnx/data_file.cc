#include "core/onnx/data_file.h"

#include <cstring>

namespace quotient::onnx {

int64_t DataFile::Place(absl::string_view bytes) {
  const auto [place, is_new] = offsets_.try_emplace(bytes, 0);
  if (is_new) place->second = Append(bytes);
  return place->second;
}

int64_t DataFile::Append(absl::string_view bytes) {
  const int64_t offset = (size_ + kAlignment - 1) / kAlignment * kAlignment;
  parts_.push_back({offset, bytes});
  size_ = offset + static_cast<int64_t>(bytes.size());
  return offset;
}

int64_t DataFile::AppendRotated(absl::string_view bytes, size_t begin) {
  const int64_t offset = Append(bytes.substr(begin));
  parts_.push_back({size_, bytes.substr(0, begin)});
  size_ += static_cast<int64_t>(begin);
  return offset;
}

std::string DataFile::Write() const {
  std::string file(static_cast<size_t>(size_), '\0');
  for (const auto& [offset, bytes] : parts_) {
    if (!bytes.empty()) std::memcpy(&file[static_cast<size_t>(offset)], bytes.data(), bytes.size());
  }
  return file;
}

}  // namespace quotient::onnx
