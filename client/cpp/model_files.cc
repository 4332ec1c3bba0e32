#include "client/cpp/model_files.h"

#include <fcntl.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/open_beneath.h"
#include "client/cpp/typed_file.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/external.h"

namespace quotient::client {

absl::StatusOr<LocalModel> LocalModel::Open(const std::string& path) {
  LocalModel model;
  model.name_ = os::BaseName(path);
  model.folder_ = os::DirectoryOf(path);
  QUOTIENT_ASSIGN_OR_RETURN(model.graph_, MapTypedFile(path));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> locations,
                            onnx::ExternalLocations(model.graph()));
  if (locations.empty()) return model;
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd folder,
                            os::OpenFile(os::DirectoryOf(path), O_RDONLY | O_DIRECTORY));
  for (const std::string& location : locations) {
    QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, OpenBeneath(folder, location));
    absl::StatusOr<std::unique_ptr<os::MappedFile>> file =
        os::MappedFile::Map(fd, Escaped(location));
    if (!file.ok()) return MakeError(Reason::kExternalDataMissing, file.status().message());
    model.external_[location] = *std::move(file);
  }
  return model;
}

optimize::ModelFiles LocalModel::View() const {
  optimize::ModelFiles files{.name = name_, .model = graph()};
  for (const auto& [location, file] : external_) files.external_data[location] = file->bytes();
  return files;
}

}  // namespace quotient::client
