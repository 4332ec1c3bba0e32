// Any bytes in a whole envelope are what a search can go on from, or they are refused; one that
// goes on comes to its end.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/base/log.h"
#include "core/search/checkpoint.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/checkpoint_search.h"
#include "tests/fuzz/understood.h"
#include "tests/support/countdown_clock.h"
#include "tests/support/memory_checkpoint.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose

// Time is up when a search has looked at the clock so often, so it ends whatever the bytes say.
constexpr int64_t kLooks = 800;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Log().set_level(spdlog::level::off);  // Each refusal is worth a line.
  const absl::string_view content(reinterpret_cast<const char*>(data), size);
  const testing::CountdownClock clock(kLooks);
  testing::CheckpointSearch search(clock.Stop());
  testing::MemoryCheckpoint checkpoint(search::SealCheckpoint(search.identity(), content));
  const search::Outcome outcome = search.Run(&checkpoint);
  const bool goes_on = outcome.checkpoint_refused.empty();
  testing::Check((outcome.resumed.times > 0) == goes_on, "a search goes on, or says why not");
  if (goes_on) testing::NoteUnderstood();
  return 0;
}
