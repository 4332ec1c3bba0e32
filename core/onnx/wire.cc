#include "core/onnx/wire.h"

namespace quotient::onnx {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

}  // namespace

bool WireReader::Fail(const char* error) {
  error_ = error;
  rest_ = {};
  return false;
}

bool WireReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < 10; ++i) {
    if (i >= rest_.size()) return Fail("truncated");
    const auto byte = static_cast<uint8_t>(rest_[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return true;
    }
  }
  return Fail("a number of more than ten bytes");
}

bool WireReader::Skip(uint64_t bytes) {
  if (bytes > rest_.size()) return Fail("truncated");
  rest_.remove_prefix(bytes);
  return true;
}

bool WireReader::Next(WireField* field) {
  if (rest_.empty()) return false;
  const char* const begin = rest_.data();
  uint64_t tag;
  uint64_t value;
  if (!ReadVarint(&tag)) return false;
  if ((tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) return Fail("no valid field number");
  field->number = static_cast<uint32_t>(tag >> 3);
  field->is_bytes = false;
  field->payload = {};
  switch (tag & 7) {
    case kVarint:
      if (!ReadVarint(&value)) return false;
      break;
    case kFixed64:
      if (!Skip(8)) return false;
      break;
    case kFixed32:
      if (!Skip(4)) return false;
      break;
    case kBytes:
      if (!ReadVarint(&value)) return false;
      if (value > rest_.size()) return Fail("truncated");
      field->is_bytes = true;
      field->payload = rest_.substr(0, value);
      rest_.remove_prefix(value);
      break;
    default:
      return Fail("a wire type that ONNX does not use");
  }
  field->encoded = absl::string_view(begin, static_cast<size_t>(rest_.data() - begin));
  return true;
}

void AppendBytesField(uint32_t number, absl::string_view payload, std::string* out) {
  AppendVarint((static_cast<uint64_t>(number) << 3) | kBytes, out);
  AppendVarint(payload.size(), out);
  out->append(payload.data(), payload.size());
}

}  // namespace quotient::onnx
