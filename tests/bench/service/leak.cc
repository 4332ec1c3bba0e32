// Makes quotientd leak memory and descriptors when it is loaded into it by LD_PRELOAD, so that it
// can be seen that soak.py finds leaks: $QUOTIENT_LEAK_KIB a second, and a descriptor a second.

#include <errno.h>
#include <fcntl.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

// So that the compiler does not do without the blocks, which nobody uses.
[[maybe_unused]] void* volatile g_last;

[[gnu::constructor]] void Leak() {
  const char* const kibibytes = std::getenv("QUOTIENT_LEAK_KIB");
  if (kibibytes == nullptr || std::strcmp(program_invocation_short_name, "quotientd") != 0) return;
  std::thread([bytes = std::strtoul(kibibytes, nullptr, 10) << 10] {
    for (;;) {
      void* const block = std::malloc(bytes);
      std::memset(block, 1, bytes);
      g_last = block;
      [[maybe_unused]] const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }).detach();
}

}  // namespace
