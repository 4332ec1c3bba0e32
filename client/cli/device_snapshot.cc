#include "client/cli/device_snapshot.h"

#include <memory>
#include <string>

#include "client/cpp/typed_file.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/timing/snapshot.h"

namespace quotient::cli {

absl::StatusOr<Settings> WithDeviceSnapshot(Settings settings) {
  const std::string& path = settings.device_snapshot;
  if (path.empty()) return settings;
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::MappedFile> file, client::MapTypedFile(path));
  // The file is checked here, where an error can name it: later code knows only the digest.
  QUOTIENT_RETURN_IF_ERROR(Annotate(timing::ParseSnapshot(file->bytes()).status(), path));
  settings.snapshot_bytes = std::string(file->bytes());
  settings.options.device = optimize::SnapshotDevice(settings.snapshot_bytes);
  return settings;
}

}  // namespace quotient::cli
