#pragma once

// The blobs as the process of a job sees them. It reads those of the store, and puts what it makes
// into a folder of its own, from which the store takes it when the process has ended
// (DiskBlobStore::Take). So it needs no right to write the store, whose files others rely on.

#include <functional>
#include <string>
#include <utility>

#include "server/store/disk/blob_files.h"

namespace quotient::store {

// Thread-safe.
class Outbox : public BlobFiles, public jobs::BlobSink {
 public:
  // `path` is that of the store, and `folder` is empty and on the same disk. `on_damage` is told of
  // each blob that is found damaged, from any thread.
  Outbox(std::string path, std::string folder, const DiskLimits& limits,
         std::function<void(const BlobId&)> on_damage)
      : BlobFiles(std::move(path), limits),
        folder_(std::move(folder)),
        on_damage_(std::move(on_damage)) {}

  // Does not note the use, which is the store's to do.
  absl::StatusOr<bool> Use(const BlobId& id) override { return Contains(id); }
  // Writes the bytes into the folder, in a file named by their digest, unless they are those of a
  // blob that was verified here. The store makes them durable.
  absl::StatusOr<BlobId> Put(absl::string_view bytes) override;

 private:
  void OnDamaged(const BlobId& id, const os::Fd& /*fd*/) override { on_damage_(id); }

  const std::string folder_;
  const std::function<void(const BlobId&)> on_damage_;
};

}  // namespace quotient::store
