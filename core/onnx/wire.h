#pragma once

// Reads protobuf's wire format, one message at a time, without allocating memory.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace quotient::onnx {

struct WireField {
  uint32_t number = 0;
  bool is_bytes = false;      // Length-delimited: a string, a message or packed numbers.
  absl::string_view payload;  // The delimited bytes, if is_bytes.
  absl::string_view encoded;  // The whole field: tag, length and payload.
};

// Reads the fields of a message one after another. Groups are errors, because ONNX never had any.
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : rest_(message) {}

  // Returns false at the end of the message and after an error.
  bool Next(WireField* field);

  // What is wrong with the message; null if nothing is.
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
