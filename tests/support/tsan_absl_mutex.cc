// Makes absl::Mutex visible to the thread sanitizer. Linked into every program of the preset tsan
// (deploy/cmake/QuotientTargets.cmake), and only there.
//
// Debian's Abseil is not instrumented, so the sanitizer does not see that one thread's Unlock()
// happens before another's Lock(), and reports each field that a mutex guards. The definitions
// below take the place of the library's, in the library's own calls too: each calls the original
// and tells the sanitizer about the order that it establishes.
//
// The order is told by __tsan_acquire and __tsan_release, which know no shared mode. So a write
// under a reader lock goes unreported; everything else is as precise as with std::mutex.

#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstdio>
#include <cstdlib>

namespace {

// The mutex that this thread is operating on: conditions are evaluated in the middle of Await(),
// and in Unlock() on behalf of other threads, by a function that does not know the mutex.
thread_local void* current_mutex = nullptr;

class ScopedCurrentMutex {
 public:
  explicit ScopedCurrentMutex(void* mutex) : previous_(current_mutex) { current_mutex = mutex; }
  ~ScopedCurrentMutex() { current_mutex = previous_; }

 private:
  void* const previous_;
};

// The library's own definition of a function that this file replaces.
template <typename Function>
Function* Original(const char* mangled_name) {
  void* const symbol = dlsym(RTLD_NEXT, mangled_name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "tsan_absl_mutex: this Abseil has no %s\n", mangled_name);
    std::abort();
  }
  return reinterpret_cast<Function*>(symbol);
}

// Notification and BlockingCounter begin with their mutex; the flag that waiters read is next.
void* FlagAfterMutex(const void* object) {
  return const_cast<char*>(static_cast<const char*>(object)) + sizeof(absl::Mutex);
}

}  // namespace

// A member function is called as a plain one whose first argument is the object, as the Itanium
// ABI has it.
#define QUOTIENT_ORIGINAL(signature, suffix) \
  static auto* const original = Original<signature>("_ZN" suffix)
#define QUOTIENT_CONST_ORIGINAL(signature, suffix) \
  static auto* const original = Original<signature>("_ZNK" suffix)

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() {
  QUOTIENT_ORIGINAL(void(Mutex*), "4absl7debian35Mutex4LockEv");
  ScopedCurrentMutex scope(this);
  original(this);
  __tsan_acquire(this);
}

void Mutex::ReaderLock() {
  QUOTIENT_ORIGINAL(void(Mutex*), "4absl7debian35Mutex10ReaderLockEv");
  ScopedCurrentMutex scope(this);
  original(this);
  __tsan_acquire(this);
}

bool Mutex::TryLock() {
  QUOTIENT_ORIGINAL(bool(Mutex*), "4absl7debian35Mutex7TryLockEv");
  const bool locked = original(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

bool Mutex::ReaderTryLock() {
  QUOTIENT_ORIGINAL(bool(Mutex*), "4absl7debian35Mutex13ReaderTryLockEv");
  const bool locked = original(this);
  if (locked) __tsan_acquire(this);
  return locked;
}

void Mutex::Unlock() {
  QUOTIENT_ORIGINAL(void(Mutex*), "4absl7debian35Mutex6UnlockEv");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);
  original(this);
}

void Mutex::ReaderUnlock() {
  QUOTIENT_ORIGINAL(void(Mutex*), "4absl7debian35Mutex12ReaderUnlockEv");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);
  original(this);
}

void Mutex::LockWhen(const Condition& condition) {
  QUOTIENT_ORIGINAL(void(Mutex*, const Condition&),
                    "4absl7debian35Mutex8LockWhenERKNS0_9ConditionE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);  // whoever unlocks reads the condition
  original(this, condition);
  __tsan_acquire(this);
}

bool Mutex::LockWhenWithDeadline(const Condition& condition, absl::Time deadline) {
  QUOTIENT_ORIGINAL(bool(Mutex*, const Condition&, absl::Time),
                    "4absl7debian35Mutex20LockWhenWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);  // whoever unlocks reads the condition
  const bool met = original(this, condition, deadline);
  __tsan_acquire(this);
  return met;
}

bool Mutex::LockWhenWithTimeout(const Condition& condition, absl::Duration timeout) {
  QUOTIENT_ORIGINAL(bool(Mutex*, const Condition&, absl::Duration),
                    "4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);  // whoever unlocks reads the condition
  const bool met = original(this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

void Mutex::Await(const Condition& condition) {
  QUOTIENT_ORIGINAL(void(Mutex*, const Condition&), "4absl7debian35Mutex5AwaitERKNS0_9ConditionE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);
  original(this, condition);
  __tsan_acquire(this);
}

bool Mutex::AwaitWithDeadline(const Condition& condition, absl::Time deadline) {
  QUOTIENT_ORIGINAL(bool(Mutex*, const Condition&, absl::Time),
                    "4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);
  const bool met = original(this, condition, deadline);
  __tsan_acquire(this);
  return met;
}

bool Mutex::AwaitWithTimeout(const Condition& condition, absl::Duration timeout) {
  QUOTIENT_ORIGINAL(bool(Mutex*, const Condition&, absl::Duration),
                    "4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE");
  ScopedCurrentMutex scope(this);
  __tsan_release(this);
  const bool met = original(this, condition, timeout);
  __tsan_acquire(this);
  return met;
}

// The mutex is held around each evaluation, whichever thread makes it.
bool Condition::Eval() const {
  QUOTIENT_CONST_ORIGINAL(bool(const Condition*), "4absl7debian39Condition4EvalEv");
  void* const mutex = current_mutex;
  if (mutex != nullptr) __tsan_acquire(mutex);
  const bool met = original(this);
  if (mutex != nullptr) __tsan_release(mutex);
  return met;
}

void CondVar::Wait(Mutex* mutex) {
  QUOTIENT_ORIGINAL(void(CondVar*, Mutex*), "4absl7debian37CondVar4WaitEPNS0_5MutexE");
  ScopedCurrentMutex scope(mutex);
  __tsan_release(mutex);
  original(this, mutex);
  __tsan_acquire(mutex);
}

bool CondVar::WaitWithDeadline(Mutex* mutex, absl::Time deadline) {
  QUOTIENT_ORIGINAL(bool(CondVar*, Mutex*, absl::Time),
                    "4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE");
  ScopedCurrentMutex scope(mutex);
  __tsan_release(mutex);
  const bool timed_out = original(this, mutex, deadline);
  __tsan_acquire(mutex);
  return timed_out;
}

bool CondVar::WaitWithTimeout(Mutex* mutex, absl::Duration timeout) {
  QUOTIENT_ORIGINAL(bool(CondVar*, Mutex*, absl::Duration),
                    "4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE");
  ScopedCurrentMutex scope(mutex);
  __tsan_release(mutex);
  const bool timed_out = original(this, mutex, timeout);
  __tsan_acquire(mutex);
  return timed_out;
}

// Readers of the flag may skip the mutex, so the order goes through the flag as well.
void Notification::Notify() {
  QUOTIENT_ORIGINAL(void(Notification*), "4absl7debian312Notification6NotifyEv");
  __tsan_release(FlagAfterMutex(this));
  original(this);
}

void Notification::WaitForNotification() const {
  QUOTIENT_CONST_ORIGINAL(void(const Notification*),
                          "4absl7debian312Notification19WaitForNotificationEv");
  original(this);
  __tsan_acquire(FlagAfterMutex(this));
}

bool Notification::WaitForNotificationWithTimeout(absl::Duration timeout) const {
  QUOTIENT_CONST_ORIGINAL(
      bool(const Notification*, absl::Duration),
      "4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE");
  const bool notified = original(this, timeout);
  if (notified) __tsan_acquire(FlagAfterMutex(this));
  return notified;
}

bool Notification::WaitForNotificationWithDeadline(absl::Time deadline) const {
  QUOTIENT_CONST_ORIGINAL(
      bool(const Notification*, absl::Time),
      "4absl7debian312Notification31WaitForNotificationWithDeadlineENS0_4TimeE");
  const bool notified = original(this, deadline);
  if (notified) __tsan_acquire(FlagAfterMutex(this));
  return notified;
}

bool BlockingCounter::DecrementCount() {
  QUOTIENT_ORIGINAL(bool(BlockingCounter*), "4absl7debian315BlockingCounter14DecrementCountEv");
  void* const flag = FlagAfterMutex(this);
  __tsan_release(flag);
  const bool last = original(this);
  // Not the flag's memory, which the waiter may have freed: its address, as a name.
  if (last) __tsan_acquire(flag);
  return last;
}

void BlockingCounter::Wait() {
  QUOTIENT_ORIGINAL(void(BlockingCounter*), "4absl7debian315BlockingCounter4WaitEv");
  original(this);
  __tsan_acquire(FlagAfterMutex(this));
}

ABSL_NAMESPACE_END
}  // namespace absl
