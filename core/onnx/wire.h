#pragma once

// Protobuf's wire format, one message at a time, without allocating anything.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::onnx {

struct WireField {
  uint32_t number = 0;
  bool is_bytes = false;      // length-delimited: a string, a message or packed numbers
  absl::string_view payload;  // what is_bytes delimits
  absl::string_view encoded;  // tag, length and payload
};

// Reads the fields of a message one after another. Groups, which ONNX never had, are errors.
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : rest_(message) {}

  // False at the end of the message, and from the first error on.
  bool Next(WireField* field);

  // Null while all is well, else what is wrong.
  const char* error() const { return error_; }

 private:
  bool Fail(const char* error);
  bool ReadVarint(uint64_t* value);
  bool Skip(uint64_t bytes);

  absl::string_view rest_;
  const char* error_ = nullptr;
};

// Appends a length-delimited field.
void AppendBytesField(uint32_t number, absl::string_view payload, std::string* out);

}  // namespace quotient::onnx
