// Makes the corpus of checkpoint_fuzz.cc anew, which has to be done when the format changes: what
// is inside of checkpoints that its search leaves early and late, while simulations are under way.
//
//   make_checkpoints tests/data/fuzz/checkpoint

#include <fstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/stop.h"
#include "core/search/checkpoint.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/checkpoint_search.h"
#include "tests/support/memory_checkpoint.h"

namespace {

using quotient::testing::Check;

void Write(const quotient::Digest& search, absl::string_view checkpoint, const std::string& path) {
  const absl::StatusOr<absl::string_view> content =
      quotient::search::OpenCheckpoint(search, checkpoint);
  Check(content.ok(), "a checkpoint is whole", content.status());
  std::ofstream file(path, std::ios::binary);
  file.write(content->data(), static_cast<std::streamsize>(content->size()));
  Check(file.flush().good(), "a file can be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  for (const int steps : {1, 10, 100}) {
    quotient::CancelToken token;
    quotient::testing::CheckpointSearch search{quotient::StopCondition(&token)};
    const quotient::Digest identity = search.identity();
    quotient::testing::MemoryCheckpoint slot("", /*questions=*/steps, &token);
    search.Run(&slot);
    Check(!slot.saved().empty(), "a search leaves a checkpoint when one is due");
    Write(identity, slot.saved()[0], absl::StrCat(argv[1], "/after_", steps));
  }
  return 0;
}
