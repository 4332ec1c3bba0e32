#include "server/runner/sandbox.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace quotient::runner {
namespace {

constexpr rlim_t kMostOpenFiles = 8192;

// Calls that no kernel library, no runtime and no allocator makes, and that exploits are made of.
constexpr int kRefused[] = {
    SCMP_SYS(acct),
    SCMP_SYS(add_key),
    SCMP_SYS(adjtimex),
    SCMP_SYS(bpf),
    SCMP_SYS(chmod),
    SCMP_SYS(chown),
    SCMP_SYS(chroot),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(clock_settime),
    SCMP_SYS(delete_module),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(fchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(finit_module),
    SCMP_SYS(fremovexattr),
    SCMP_SYS(fsetxattr),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fspick),
    SCMP_SYS(init_module),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(ioperm),
    SCMP_SYS(iopl),
    SCMP_SYS(kcmp),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(kexec_load),
    SCMP_SYS(keyctl),
    SCMP_SYS(lchown),
    SCMP_SYS(lookup_dcookie),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(mount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(move_mount),
    SCMP_SYS(mq_open),
    SCMP_SYS(msgget),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(open_tree),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pivot_root),
    SCMP_SYS(process_madvise),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(ptrace),
    SCMP_SYS(quotactl),
    SCMP_SYS(reboot),
    SCMP_SYS(removexattr),
    SCMP_SYS(request_key),
    SCMP_SYS(semget),
    SCMP_SYS(setdomainname),
    SCMP_SYS(sethostname),
    SCMP_SYS(setns),
    SCMP_SYS(setpgid),
    SCMP_SYS(setsid),
    SCMP_SYS(settimeofday),
    SCMP_SYS(setxattr),
    SCMP_SYS(shmget),
    SCMP_SYS(swapoff),
    SCMP_SYS(swapon),
    SCMP_SYS(syslog),
    SCMP_SYS(umount2),
    SCMP_SYS(unshare),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(utime),
    SCMP_SYS(utimensat),
    SCMP_SYS(utimes),
    SCMP_SYS(vhangup),
};

// What connects to servers of this machine, or makes one.
constexpr int kConnecting[] = {SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(listen)};

// What types into the terminal that the server was started from.
constexpr uint64_t kTyping[] = {TIOCSTI, TIOCLINUX};

// What clone makes new namespaces by.
constexpr uint64_t kNamespaces[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                    CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};

// Returns 0, or the negative error number of the first rule that cannot be added.
int AddRules(scmp_filter_ctx filter, bool connects) {
  const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
  int failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  for (const int call : kRefused) {
    if (failed == 0) failed = seccomp_rule_add(filter, refuse, call, 0);
  }
  for (const int call : kConnecting) {
    if (failed == 0 && !connects) failed = seccomp_rule_add(filter, refuse, call, 0);
  }
  for (const uint64_t request : kTyping) {
    if (failed != 0) break;
    failed = seccomp_rule_add(filter, refuse, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, request));
  }
  if (failed == 0) {
    failed = seccomp_rule_add(filter, refuse, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_NE, static_cast<scmp_datum_t>(AF_UNIX)));
  }
  for (const uint64_t kind : kNamespaces) {
    if (failed != 0) break;
    failed = seccomp_rule_add(filter, refuse, SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, kind, kind));
  }
  // Its flags are in memory, where a filter cannot see them. The C library then takes clone.
  if (failed == 0) failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  return failed;
}

absl::Status RefuseCalls(bool connects) {
  const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return absl::UnavailableError("no seccomp filter can be made");
  const auto release = absl::MakeCleanup([filter] { seccomp_release(filter); });
  int failed = AddRules(filter, connects);
  if (failed == 0) failed = seccomp_load(filter);
  if (failed == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("seccomp: ", strerror(-failed)));
}

// Who is not root has none of them anyway.
absl::Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) == 0) {
    const uint32_t kept = CAP_TO_MASK(CAP_DAC_OVERRIDE) | CAP_TO_MASK(CAP_SYS_NICE);
    sets[0] = {.effective = sets[0].effective & kept,
               .permitted = sets[0].permitted & kept,
               .inheritable = 0};
    sets[1] = {};
    if (syscall(SYS_capset, &header, sets) == 0) return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("capabilities: ", strerror(errno)));
}

void Limit(__rlimit_resource resource, rlim_t most) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  setrlimit(resource, &limit);
}

// Addresses are not limited, because drivers of GPUs reserve more than there is memory, nor is the
// number of processes, of which a limit counts all that the user has (job_groups.h does that).
void LimitResources(int64_t most_file_bytes) {
  Limit(RLIMIT_FSIZE, static_cast<rlim_t>(most_file_bytes));
  std::signal(SIGXFSZ, SIG_IGN);  // What is too large fails as if the disk were full.
  Limit(RLIMIT_NOFILE, kMostOpenFiles);
  Limit(RLIMIT_CORE, 0);
}

}  // namespace

absl::Status EnterSandbox(const Sandbox& sandbox) {
  LimitResources(sandbox.most_file_bytes);
  std::vector<std::string> missing;
  for (const absl::Status& entered :
       {RestrictFiles(sandbox.files), DropCapabilities(), RefuseCalls(sandbox.connects)}) {
    if (!entered.ok()) missing.emplace_back(entered.message());
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrJoin(missing, "; "));
}

}  // namespace quotient::runner
