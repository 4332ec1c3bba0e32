// A signal handler may not lock, so it finds the ranges in a table of atomics, which is never
// moved:
//
// 1. A range takes a free slot under a mutex, sets `end` and then `begin`, which makes it valid.
// 2. The handler looks for the slot whose range has the address, sets `failed`, and puts a page of
//    zeros there. The slot cannot be given back meanwhile, since a thread still reads the range.
// 3. The range sets `begin` to 0, which ends its validity, and gives the slot back.

#include "server/store/disk/read_faults.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace quotient::store {
namespace {

constexpr size_t kSlots = 16384;

struct Slot {
  std::atomic<uintptr_t> begin = 0;  // 0 if the slot is free.
  std::atomic<uintptr_t> end = 0;
  std::atomic<bool> failed = false;
};

// Handlers of signals have no other way to their data.
std::array<Slot, kSlots> g_slots;
struct sigaction g_before;
uintptr_t g_page_bytes = 0;

class FreeSlots {
 public:
  // kSlots if there is none.
  size_t Take() {
    absl::MutexLock lock(&mutex_);
    if (!given_back_.empty()) {
      const size_t slot = given_back_.back();
      given_back_.pop_back();
      return slot;
    }
    return never_used_ < kSlots ? never_used_++ : kSlots;
  }
  void GiveBack(size_t slot) {
    absl::MutexLock lock(&mutex_);
    given_back_.push_back(slot);
  }

 private:
  absl::Mutex mutex_;
  std::vector<size_t> given_back_ ABSL_GUARDED_BY(mutex_);
  size_t never_used_ ABSL_GUARDED_BY(mutex_) = 0;
};

FreeSlots& AllFreeSlots() {
  static auto& slots = *new FreeSlots;
  return slots;
}

// Returns whether the address is in a watched range, and can be read now.
bool Survive(uintptr_t address) {
  for (Slot& slot : g_slots) {
    const uintptr_t begin = slot.begin.load();
    if (begin == 0 || address < begin || address >= slot.end.load()) continue;
    slot.failed.store(true);
    void* const page = reinterpret_cast<void*>(address - address % g_page_bytes);
    return mmap(page, g_page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
           page;
  }
  return false;
}

void OnReadFault(int number, siginfo_t* info, void* context) {
  if (info->si_code == BUS_ADRERR && Survive(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  if ((g_before.sa_flags & SA_SIGINFO) != 0) return g_before.sa_sigaction(number, info, context);
  // The fault comes again, and does what it did before.
  sigaction(number, &g_before, nullptr);
  if (info->si_code <= 0) raise(number);
}

void InstallHandler() {
  g_page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGE_SIZE));
  struct sigaction ours = {};
  ours.sa_sigaction = OnReadFault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGBUS, nullptr, &g_before);
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

WatchedRange::WatchedRange(absl::string_view bytes) : slot_(AllFreeSlots().Take()) {
  static std::once_flag once;
  std::call_once(once, InstallHandler);
  if (slot_ == kSlots) return;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  g_slots[slot_].failed.store(false);
  g_slots[slot_].end.store(begin + bytes.size());
  g_slots[slot_].begin.store(begin);
}

WatchedRange::~WatchedRange() {
  if (slot_ == kSlots) return;
  g_slots[slot_].begin.store(0);
  AllFreeSlots().GiveBack(slot_);
}

bool WatchedRange::failed() const { return slot_ != kSlots && g_slots[slot_].failed.load(); }

}  // namespace quotient::store
