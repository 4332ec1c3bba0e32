// A library in the place of NVML, with two GPUs. The second one tells little.

#include "tests/server/ops/fake_nvml.h"

#include <condition_variable>
#include <cstring>
#include <mutex>

namespace {

using Handle = void*;

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kTimeout = 10;
constexpr int kGpuIsLost = 15;

int gpus[2];  // Their addresses are the handles.
int events;

class Fake : public quotient::ops::FakeNvml {
 public:
  void Hang(bool hangs) override {
    const std::lock_guard lock(mutex_);
    hangs_ = hangs;
    changed_.notify_all();
  }
  void LoseGpu() override {
    const std::lock_guard lock(mutex_);
    is_lost_ = true;
  }
  void RaiseXid() override {
    const std::lock_guard lock(mutex_);
    ++xids_;
  }
  int reads() override {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

  // Whether this GPU answers. Blocks while the driver hangs.
  bool Answers(Handle gpu) {
    std::unique_lock lock(mutex_);
    ++reads_;
    changed_.wait(lock, [&] { return !hangs_; });
    return gpu != &gpus[1] || !is_lost_;
  }
  bool TakeXid() {
    const std::lock_guard lock(mutex_);
    return xids_ > 0 && xids_-- > 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hangs_ = false;
  bool is_lost_ = false;
  int xids_ = 0;
  int reads_ = 0;
};

Fake& TheFake() {
  static auto& fake = *new Fake();
  return fake;
}

bool TellsMuch(Handle gpu) { return gpu == &gpus[0]; }

}  // namespace

extern "C" {

quotient::ops::FakeNvml* fake_nvml() { return &TheFake(); }

int nvmlInit_v2() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* gpu) {
  *gpu = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetUUID(Handle gpu, char* uuid, unsigned size) {
  std::strncpy(uuid, gpu == &gpus[0] ? "GPU-first" : "GPU-second", size);
  return kSuccess;
}
int nvmlDeviceGetMemoryInfo(Handle gpu, unsigned long long* memory) {
  if (!TheFake().Answers(gpu)) return kGpuIsLost;
  memory[0] = 1000;
  memory[1] = 700;
  memory[2] = 300;
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(Handle gpu, unsigned* percent) {
  if (!TellsMuch(gpu)) return kNotSupported;
  percent[0] = 50;
  percent[1] = 10;
  return kSuccess;
}
int nvmlDeviceGetTemperature(Handle gpu, int sensor, unsigned* celsius) {
  *celsius = 41;
  return TellsMuch(gpu) && sensor == 0 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetClockInfo(Handle gpu, int clock, unsigned* mhz) {
  *mhz = 1980;
  return TellsMuch(gpu) && clock == 1 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(Handle gpu, unsigned long long* causes) {
  *causes = 0x20;
  return TellsMuch(gpu) ? kSuccess : kNotSupported;
}
int nvmlDeviceGetViolationStatus(Handle gpu, int policy, unsigned long long* violation) {
  violation[0] = 1;
  violation[1] = 2'500'000'000;
  return TellsMuch(gpu) && policy == 1 ? kSuccess : kNotSupported;
}
int nvmlDeviceGetTotalEccErrors(Handle gpu, int kind, int counter, unsigned long long* count) {
  *count = kind == 1 ? 3 : 7;
  return TellsMuch(gpu) && counter == 0 ? kSuccess : kNotSupported;
}
int nvmlEventSetCreate(Handle* set) {
  *set = &events;
  return kSuccess;
}
int nvmlDeviceRegisterEvents(Handle gpu, unsigned long long kinds, Handle /*set*/) {
  return TellsMuch(gpu) && kinds == 8 ? kSuccess : kNotSupported;
}
int nvmlEventSetWait_v2(Handle /*set*/, void* event, unsigned /*milliseconds*/) {
  if (!TheFake().TakeXid()) return kTimeout;
  struct {
    Handle device = &gpus[0];
    unsigned long long kind = 8, data = 79;
  } xid;
  std::memcpy(event, &xid, sizeof(xid));
  return kSuccess;
}

}  // extern "C"
