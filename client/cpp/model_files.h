#pragma once

// A model on this machine: the ONNX file and the external data it names, mapped into memory.

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/optimize/optimize.h"
#include "core/os/files.h"

namespace quotient::client {

class LocalModel {
 public:
  // Opens the model and, only inside of its folder, the files that it names. OPTION_INVALID if the
  // model itself cannot be opened; MODEL_MALFORMED, LIMIT_... if it cannot be read;
  // EXTERNAL_DATA_PATH if it names a file outside of its folder; EXTERNAL_DATA_MISSING.
  static absl::StatusOr<LocalModel> Open(const std::string& path);

  const std::string& name() const { return name_; }
  // The folder it lies in.
  const std::string& folder() const { return folder_; }
  absl::string_view graph() const { return graph_->bytes(); }
  const std::map<std::string, std::unique_ptr<os::MappedFile>>& external() const {
    return external_;
  }

  // Borrows this object's bytes.
  optimize::ModelFiles View() const;

 private:
  std::string name_;
  std::string folder_;
  std::unique_ptr<os::MappedFile> graph_;
  std::map<std::string, std::unique_ptr<os::MappedFile>> external_;  // by location
};

}  // namespace quotient::client
