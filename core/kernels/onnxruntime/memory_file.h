#pragma once

// MemoryFile: a file without a place in any folder. ONNX Runtime writes to paths only, and the
// helper process has no folder to write to. For one thread.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {

class MemoryFile {
 public:
  // An empty file. Fails with STORAGE_DOWN.
  static absl::StatusOr<MemoryFile> Create();

  // Leads to the file within this process, while the object lives.
  std::string path() const;
  // Writes at the end of the file. Fails with STORAGE_DOWN.
  absl::Status Append(absl::string_view bytes);
  // The bytes as they are now. What is appended later is not in it. Fails with STORAGE_DOWN.
  absl::StatusOr<std::unique_ptr<os::MappedFile>> Map() const;

 private:
  explicit MemoryFile(os::Fd fd) : fd_(std::move(fd)) {}

  os::Fd fd_;
};

}  // namespace quotient::kernels::onnxruntime
