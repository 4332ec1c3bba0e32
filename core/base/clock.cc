#include "core/base/clock.h"

namespace quotient {
namespace {

class SystemClock : public Clock {
 public:
  int64_t NowNs() const override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  int64_t UnixMs() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock* const clock = new SystemClock;
  return *clock;
}

}  // namespace quotient
