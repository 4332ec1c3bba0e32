#include "server/store/disk/run_record.h"

#include <fcntl.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace quotient::store {
namespace {

using Kind = jobs::LastEnd::Kind;

constexpr char kBootLine[] = "boot ";
constexpr char kToldLine[] = "told";

}  // namespace

jobs::LastEnd RunRecord::Read(const std::string& path, absl::string_view boot_id) {
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  if (!text.ok()) return {};
  jobs::LastEnd end;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (absl::ConsumePrefix(&line, kBootLine)) {
      if (line != boot_id) return {Kind::kRestart};
    } else if (line == kToldLine) {
      end = {Kind::kTold};
    }
  }
  return end;
}

absl::StatusOr<std::unique_ptr<RunRecord>> RunRecord::Begin(const std::string& path,
                                                            absl::string_view boot_id) {
  QUOTIENT_ASSIGN_OR_RETURN(os::Fd fd, os::OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, absl::StrCat(kBootLine, boot_id, "\n"), path));
  return std::unique_ptr<RunRecord>(new RunRecord(std::move(fd)));
}

absl::Status RunRecord::NoteTold() const {
  return os::WriteFully(fd_, absl::StrCat(kToldLine, "\n"), "run record");
}

std::string BootId() {
  const absl::StatusOr<std::string> id = os::ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : "";
}

}  // namespace quotient::store
