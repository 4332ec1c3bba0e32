#include "server/store/disk/run_record.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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
constexpr char kCrashLine[] = "crash ";
constexpr size_t kMaxThreadName = 16;

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
    } else if (absl::ConsumePrefix(&line, kCrashLine)) {
      // Even of a process that had been told to end: that is no reason to crash.
      return {Kind::kCrash, std::string(line)};
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

void RunRecord::NoteCrash(const char* thread) const {
  char line[sizeof(kCrashLine) + kMaxThreadName + 1];
  const size_t head = sizeof(kCrashLine) - 1;
  const size_t name = strnlen(thread, kMaxThreadName);
  memcpy(line, kCrashLine, head);
  memcpy(line + head, thread, name);
  line[head + name] = '\n';
  // A note that cannot be written is missing, and then the end of the process is an unknown one.
  if (write(fd_.get(), line, head + name + 1) < 0) return;
}

std::string BootId() {
  const absl::StatusOr<std::string> id = os::ReadFile("/proc/sys/kernel/random/boot_id");
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : "";
}

}  // namespace quotient::store
