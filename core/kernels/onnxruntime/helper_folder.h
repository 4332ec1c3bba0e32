#pragma once

// HelperFolder: the folder that a helper process works in (model_folder.h). A model may name files;
// it must find none but its own, so this is a folder that nobody else can reach.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/os/environment.h"

namespace quotient::kernels::onnxruntime {

class HelperFolder {
 public:
  // Makes an empty folder in $TMPDIR, or in /tmp. FAILED_PRECONDITION if that cannot be done.
  static absl::StatusOr<std::unique_ptr<HelperFolder>> Create(const os::Environment& environment);
  // Removes it and what is in it.
  ~HelperFolder();
  HelperFolder(const HelperFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit HelperFolder(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace quotient::kernels::onnxruntime
