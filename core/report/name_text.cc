#include "core/report/name_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/log.h"

namespace quotient::report {
namespace {

std::string CutInTheMiddle(absl::string_view text, size_t width) {
  if (text.size() <= width) return std::string(text);
  constexpr absl::string_view kCut = "..";
  const size_t kept = width - kCut.size();
  const size_t head = kept / 3;
  return absl::StrCat(text.substr(0, head), kCut, text.substr(text.size() - (kept - head)));
}

}  // namespace

std::string InWords(absl::string_view name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

// Escaping drops the end of a very long text and makes others longer, so a name is cut before it is
// escaped, and once more where that made it too long.
std::string ShortName(absl::string_view name, size_t width) {
  return CutInTheMiddle(Escaped(CutInTheMiddle(name, width)), width);
}

}  // namespace quotient::report
