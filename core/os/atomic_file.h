#pragma once

// A file that appears whole or not at all: written beside its name, synced, then renamed.
//
//   auto file = AtomicFile::Create("out.onnx");   // fails early if the folder cannot be written
//   file->Append(bytes);
//   file->Commit();                               // without it nothing of the file remains

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/os/files.h"

namespace quotient::os {

// One thread at a time.
class AtomicFile {
 public:
  // STORAGE_DOWN as well where something else than a regular file has the name. Errors, here and
  // later, name `path`.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Append(absl::string_view bytes);
  // Makes the bytes durable under the temporary name; Commit then only renames.
  absl::Status Seal();
  // Whether a file with other bytes has the name. Of a sealed file.
  absl::StatusOr<bool> WouldReplaceOther() const;
  // Replaces whatever has the name.
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, Fd fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

  const std::string path_;
  const std::string temporary_;
  Fd fd_;  // closed once sealed
  bool committed_ = false;
};

}  // namespace quotient::os
