#include "core/onnx/names.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/utf8.h"
#include "core/onnx/errors.h"

namespace quotient::onnx {
namespace {

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
