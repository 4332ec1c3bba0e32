#pragma once

// Reads all blobs again and again, slowly, so that damage on the disk is found before somebody
// needs the bytes. What is damaged is set aside by the store.

#include <cstdint>
#include <optional>

#include "core/base/digest.h"
#include "server/store/disk/blob_check.h"
#include "server/store/disk/blob_store.h"

namespace quotient::store {

// One thread at a time.
class BlobScrubber {
 public:
  // Borrows the store.
  explicit BlobScrubber(DiskBlobStore* store) : store_(*store) {}

  // Reads the next `max_bytes`, which may be a part of a blob or many blobs, but not beyond the
  // last one. The next call goes on from there.
  void Step(int64_t max_bytes);

 private:
  // Begins with the blob after the last one. Returns false after the last one of all.
  bool BeginNext();
  void End(const BlobCheck& check);

  DiskBlobStore& store_;
  std::optional<Digest> last_;  // The blob that was begun last; none before the first one.
  std::optional<BlobCheck> check_;
};

}  // namespace quotient::store
