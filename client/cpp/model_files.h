#pragma once

// A local model: the ONNX file and its external data files, mapped into memory.

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/optimize/optimize.h"
#include "core/os/files.h"

namespace quotient::client {

class LocalModel {
 public:
  // Opens the model and the external data files that it names, which must be inside its folder.
  // Errors: OPTION_INVALID if the model cannot be opened; MODEL_MALFORMED or LIMIT_... if it cannot
  // be parsed; EXTERNAL_DATA_PATH if it names a file outside of its folder; EXTERNAL_DATA_MISSING.
  static absl::StatusOr<LocalModel> Open(const std::string& path);

  const std::string& name() const { return name_; }
  // The folder that contains the model.
  const std::string& folder() const { return folder_; }
  absl::string_view graph() const { return graph_->bytes(); }
  const std::map<std::string, std::unique_ptr<os::MappedFile>>& external() const {
    return external_;
  }

  // Returns the files as views of this object's bytes.
  optimize::ModelFiles View() const;

 private:
  std::string name_;
  std::string folder_;
  std::unique_ptr<os::MappedFile> graph_;
  std::map<std::string, std::unique_ptr<os::MappedFile>> external_;  // By location.
};

}  // namespace quotient::client
