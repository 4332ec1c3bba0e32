// Any bytes are a snapshot or a refusal; what is taken for one has no other text. With the right
// checksum behind them, so that it does not hide what is before it, and without.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/timing/snapshot.h"
#include "tests/fuzz/understood.h"

namespace {

bool ParseAndCheck(absl::string_view text) {
  const auto snapshot = quotient::timing::ParseSnapshot(text);
  if (snapshot.ok() && ToText(*snapshot) != text) std::abort();
  return snapshot.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  ParseAndCheck(text);
  const size_t seal = text.rfind("sha256 ");
  const absl::string_view content = text.substr(0, seal);
  const std::string sealed =
      absl::StrCat(content, "sha256 ", quotient::Digest::Of(content).Hex(), "\n");
  if (ParseAndCheck(sealed)) quotient::testing::NoteUnderstood();
  return 0;
}
