#include "core/onnx/names.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/onnx/errors.h"

namespace quotient::onnx {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none. Overlong
// forms, surrogates and code points above U+10FFFF are not well-formed (Unicode, table 3-7).
size_t Utf8Length(absl::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : (lead & 0xf0) == 0xe0       ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

bool IsUtf8WithoutNul(absl::string_view text) {
  while (!text.empty()) {
    if (text[0] == '\0') return false;
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

absl::Status CheckName(absl::string_view name, absl::string_view what, const Limits& limits) {
  if (static_cast<int64_t>(name.size()) > limits.max_name_bytes) {
    return Unsupported(what, absl::StrCat("a name of ", name.size(), " bytes, the limit is ",
                                          limits.max_name_bytes));
  }
  if (!IsUtf8WithoutNul(name)) {
    return Unsupported(what, absl::StrCat("the name '", Escaped(name), "' is not UTF-8 text"));
  }
  return absl::OkStatus();
}

std::string NamePool::Fresh(absl::string_view wanted) {
  std::string name(wanted);
  if (Take(name)) return name;
  int64_t& next = next_.try_emplace(name, 1).first->second;
  do {
    name = absl::StrCat(wanted, "_", next++);
  } while (!Take(name));
  return name;
}

}  // namespace quotient::onnx
