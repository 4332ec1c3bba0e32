#include "server/runner/file_rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::runner {
namespace {

// What headers of older kernels lack.
constexpr uint64_t kTruncate = uint64_t{1} << 14;
constexpr uint64_t kUseDevice = uint64_t{1} << 15;
constexpr uint64_t kScopeAbstractSockets = uint64_t{1} << 0;
constexpr uint64_t kScopeSignals = uint64_t{1} << 1;
struct RulesetAttributes {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scoped = 0;
};

constexpr uint64_t kOfFiles = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                              LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kUseDevice;
constexpr uint64_t kToRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kToWrite =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kUseDevice;
constexpr uint64_t kToOwn = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                            kTruncate | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_DIR;

absl::Status Unavailable(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("Landlock: ", what, ": ", strerror(errno)));
}

// All that a kernel with this version of the interface knows how to refuse. Version 1 refuses to
// move files between folders in any case.
RulesetAttributes AllOf(int64_t version) {
  RulesetAttributes all{.files = (uint64_t{1} << 13) - 1};
  if (version >= 2) all.files |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) all.files |= kTruncate;
  if (version >= 5) all.files |= kUseDevice;
  if (version >= 6) all.scoped = kScopeAbstractSockets | kScopeSignals;
  return all;
}

// A set of rules that refuses all that the kernel knows, but for what Permit adds.
class Ruleset {
 public:
  static absl::StatusOr<Ruleset> Create() {
    const int64_t version =
        syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return Unavailable("the kernel");
    const RulesetAttributes all = AllOf(version);
    // Kernels before version 6 know a part of the attributes, and refuse more of them.
    const size_t size = version >= 6 ? sizeof(all) : sizeof(all.files);
    os::Fd rules(static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, size, 0)));
    if (!rules.valid()) return Unavailable("a set of rules");
    return Ruleset(std::move(rules), all.files);
  }

  absl::Status Permit(const std::string& path, uint64_t rights) {
    const os::Fd file(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status;
    if (!file.valid() || fstat(file.get(), &status) != 0) return absl::OkStatus();
    if (!S_ISDIR(status.st_mode)) rights &= kOfFiles;
    const landlock_path_beneath_attr rule{.allowed_access = rights & known_,
                                          .parent_fd = file.get()};
    if (syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) {
      return absl::OkStatus();
    }
    return Unavailable(path);
  }

  absl::Status Enforce() const {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Unavailable("no_new_privs");
    if (syscall(SYS_landlock_restrict_self, rules_.get(), 0) != 0) return Unavailable("restrict");
    return absl::OkStatus();
  }

 private:
  Ruleset(os::Fd rules, uint64_t known) : rules_(std::move(rules)), known_(known) {}

  os::Fd rules_;
  uint64_t known_;
};

}  // namespace

absl::Status RestrictFiles(const FileRights& rights) {
  QUOTIENT_ASSIGN_OR_RETURN(Ruleset rules, Ruleset::Create());
  for (const std::string& path : rights.read) {
    QUOTIENT_RETURN_IF_ERROR(rules.Permit(path, kToRead));
  }
  for (const std::string& path : rights.write) {
    QUOTIENT_RETURN_IF_ERROR(rules.Permit(path, kToWrite));
  }
  for (const std::string& path : rights.own) {
    QUOTIENT_RETURN_IF_ERROR(rules.Permit(path, kToOwn));
  }
  return rules.Enforce();
}

}  // namespace quotient::runner
