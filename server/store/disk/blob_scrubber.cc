#include "server/store/disk/blob_scrubber.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/log.h"

namespace quotient::store {
namespace {

// To find a blob and to open it takes about as long as to read so much.
constexpr int64_t kBytesPerBlob = 64 << 10;

}  // namespace

void BlobScrubber::Step(int64_t max_bytes) {
  for (int64_t left = max_bytes; left > 0;) {
    if (!check_.has_value()) {
      if (!BeginNext()) return;
      left -= kBytesPerBlob;
      if (!check_.has_value()) continue;
    }
    left -= check_->Step(std::max<int64_t>(left, 1));
    if (check_->done()) End(*std::exchange(check_, std::nullopt));
  }
}

bool BlobScrubber::BeginNext() {
  last_ = store_.Next(last_);
  if (!last_.has_value()) return false;
  absl::StatusOr<BlobCheck> check = BlobCheck::Begin(store_.PathOf(*last_), *last_);
  if (check.ok()) {
    check_ = *std::move(check);
  } else {
    Log().warn("not checked: {}", std::string(check.status().message()));
  }
  return true;
}

void BlobScrubber::End(const BlobCheck& check) {
  if (check.intact()) {
    store_.NoteIntact(check.digest());
  } else {
    store_.SetAside(check.digest(), check.fd());
  }
}

}  // namespace quotient::store
