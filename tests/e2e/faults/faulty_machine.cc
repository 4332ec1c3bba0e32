// A machine whose disk fails and whose clock jumps, for one folder and the programs that are
// started with this library in LD_PRELOAD. It stands before the C library's functions that write
// files.
//
// QUOTIENT_FAULTY_FOLDER is the folder; QUOTIENT_FAULTY_CONTROL a file with the numbers of
// `Control`, which tests change while the programs run. Without the two nothing fails.

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace {

using Number = std::atomic<int64_t>;

// Shared by all processes. machine.py has the same list.
struct Control {
  Number error;       // errno of operations that fail; 0 if none does.
  Number passes;      // So many operations pass before one fails.
  Number failures;    // So many fail then; all if it is negative.
  Number sleep_us;    // So long does each operation take longer.
  Number is_short;    // Whether writes of several bytes write only one of them.
  Number clock_ms;    // So far is the clock ahead.
  Number is_full;     // Whether what needs more room than there is fails with ENOSPC.
  Number room;        // What a full disk has left; what is removed adds to it.
  Number operations;  // Counts all of them.
  Number failed;      // Counts those that failed.
};

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

Control* OpenControl() {
  const char* const path = getenv("QUOTIENT_FAULTY_CONTROL");
  if (path == nullptr) return nullptr;
  const int fd = Real<int(const char*, int, ...)>("open")(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<Control*>(memory);
}

Control* TheControl() {
  static Control* const control = OpenControl();
  return control;
}

// Before the program gives up its right to open the file.
__attribute__((constructor)) void OpenEarly() { TheControl(); }

bool IsInFolder(const char* path) {
  static const char* const folder = getenv("QUOTIENT_FAULTY_FOLDER");
  return folder != nullptr && strncmp(path, folder, strlen(folder)) == 0;
}

bool IsInFolder(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size < 0) return false;
  path[size] = '\0';
  return IsInFolder(path);
}

// Counts an operation on a file of the folder. Returns whether it fails, with errno set.
template <typename Place>
bool Fails(Place place) {
  const int kept_errno = errno;
  if (TheControl() == nullptr || !IsInFolder(place)) return errno = kept_errno, false;
  Control& control = *TheControl();
  ++control.operations;
  if (const int64_t us = control.sleep_us; us > 0) usleep(static_cast<useconds_t>(us));
  errno = kept_errno;
  if (control.error == 0 || control.passes-- > 0) return false;
  if (control.failures == 0) return false;
  if (control.failures > 0) --control.failures;
  ++control.failed;
  errno = static_cast<int>(control.error);
  return true;
}

bool IsFull() { return TheControl() != nullptr && TheControl()->is_full != 0; }

// Takes so many bytes of what a full disk has left. Returns whether it has fewer, with errno set.
bool LacksRoom(int64_t bytes) {
  if (bytes <= 0 || TheControl()->room.fetch_sub(bytes) >= bytes) return false;
  TheControl()->room += bytes;
  ++TheControl()->failed;
  errno = ENOSPC;
  return true;
}

// The same of what makes a file of the folder `size` bytes long, which may give room back.
bool LacksRoomFor(int fd, int64_t size, bool truncates) {
  struct stat status;
  if (!IsFull() || !IsInFolder(fd) || fstat(fd, &status) != 0) return false;
  if (truncates && size < status.st_size) TheControl()->room += status.st_size - size;
  return LacksRoom(size - status.st_size);
}

// The same of what makes a file or a folder, which take a block.
bool LacksRoomFor(const char* path) {
  struct stat status;
  return IsFull() && IsInFolder(path) && stat(path, &status) != 0 && LacksRoom(4096);
}

// As Fails, for what opens files: only if they are opened for writing.
template <typename Place>
bool OpeningFails(Place place, int flags) {
  return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0 && Fails(place);
}

size_t SizeToWrite(size_t size) {
  return TheControl() != nullptr && TheControl()->is_short != 0 && size > 1 ? 1 : size;
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

#define QUOTIENT_OPEN(name)                                            \
  int name(const char* path, int flags, ...) {                         \
    va_list arguments;                                                 \
    va_start(arguments, flags);                                        \
    const mode_t mode = ModeOf(flags, arguments);                      \
    va_end(arguments);                                                 \
    if (OpeningFails(path, flags)) return -1;                          \
    if ((flags & O_CREAT) != 0 && LacksRoomFor(path)) return -1;       \
    return Real<int(const char*, int, ...)>(#name)(path, flags, mode); \
  }
QUOTIENT_OPEN(open)
QUOTIENT_OPEN(open64)

#define QUOTIENT_OPENAT(name)                                                       \
  int name(int folder, const char* path, int flags, ...) {                          \
    va_list arguments;                                                              \
    va_start(arguments, flags);                                                     \
    const mode_t mode = ModeOf(flags, arguments);                                   \
    va_end(arguments);                                                              \
    if (OpeningFails(path, flags)) return -1;                                       \
    return Real<int(int, const char*, int, ...)>(#name)(folder, path, flags, mode); \
  }
QUOTIENT_OPENAT(openat)
QUOTIENT_OPENAT(openat64)

ssize_t write(int fd, const void* bytes, size_t size) {
  const bool counts = TheControl() != nullptr && IsInFolder(fd);
  if (counts && Fails(fd)) return -1;
  // Files that are not written by pwrite are written at their ends.
  struct stat status;
  if (counts && fstat(fd, &status) == 0 &&
      LacksRoomFor(fd, status.st_size + static_cast<int64_t>(size), /*truncates=*/false)) {
    return -1;
  }
  return Real<ssize_t(int, const void*, size_t)>("write")(fd, bytes,
                                                          counts ? SizeToWrite(size) : size);
}

#define QUOTIENT_PWRITE(name)                                                    \
  ssize_t name(int fd, const void* bytes, size_t size, off_t offset) {           \
    const bool counts = TheControl() != nullptr && IsInFolder(fd);               \
    if (counts && Fails(fd)) return -1;                                          \
    if (LacksRoomFor(fd, offset + static_cast<int64_t>(size), false)) return -1; \
    return Real<ssize_t(int, const void*, size_t, off_t)>(#name)(                \
        fd, bytes, counts ? SizeToWrite(size) : size, offset);                   \
  }
QUOTIENT_PWRITE(pwrite)
QUOTIENT_PWRITE(pwrite64)

#define QUOTIENT_OF_FD(name) \
  int name(int fd) { return Fails(fd) ? -1 : Real<int(int)>(#name)(fd); }
QUOTIENT_OF_FD(fsync)
QUOTIENT_OF_FD(fdatasync)

#define QUOTIENT_TRUNCATE(name)                                     \
  int name(int fd, off_t size) noexcept {                           \
    if (LacksRoomFor(fd, size, /*truncates=*/true)) return -1;      \
    return Fails(fd) ? -1 : Real<int(int, off_t)>(#name)(fd, size); \
  }
QUOTIENT_TRUNCATE(ftruncate)
QUOTIENT_TRUNCATE(ftruncate64)

int rename(const char* from, const char* to) noexcept {
  return Fails(to) ? -1 : Real<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return Fails(to) ? -1
                   : Real<int(int, const char*, int, const char*, unsigned)>("renameat2")(
                         from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (Fails(path) || LacksRoomFor(path)) return -1;
  return Real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int unlink(const char* path) noexcept {
  if (Fails(path)) return -1;
  struct stat status;
  const bool frees = IsFull() && IsInFolder(path) && stat(path, &status) == 0;
  const int result = Real<int(const char*)>("unlink")(path);
  if (result == 0 && frees && status.st_nlink == 1) TheControl()->room += status.st_size;
  return result;
}

int statvfs(const char* path, struct statvfs* status) noexcept {
  const int result = Real<int(const char*, struct statvfs*)>("statvfs")(path, status);
  if (result == 0 && IsFull() && IsInFolder(path)) {
    status->f_bavail = static_cast<fsblkcnt_t>(TheControl()->room) / status->f_frsize;
  }
  return result;
}

}  // extern "C"

// What the server reads of the machine's clock comes through here (core/base/clock.cc). Its waits
// are by the monotonic clock (tests/lint/waits.py).
std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  const int64_t ahead_ms = TheControl() == nullptr ? 0 : TheControl()->clock_ms.load();
  return time_point(seconds(time.tv_sec) + nanoseconds(time.tv_nsec) + milliseconds(ahead_ms));
}
