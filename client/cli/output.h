#pragma once

// The files a command was asked to write. They are opened before any work begins, so that a wrong
// path is a mistake on the command line and not an hour lost; they appear only when all are whole.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/settings.h"
#include "core/os/atomic_file.h"

namespace quotient::cli {

// The name that a result's external data gets: that of the model and ".data".
std::string ExternalLocation(const std::string& output);

// Where the bytes of a result come from: this process or a server.
class ResultSource {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view)>;

  virtual ~ResultSource() = default;
  virtual absl::Status Model(Sink sink) = 0;
  virtual absl::Status ExternalData(Sink sink) = 0;
  // Empty: the weights are inside the model.
  virtual std::string external_location() const = 0;
  virtual absl::StatusOr<std::string> ReportJson() = 0;
  virtual absl::StatusOr<std::string> ReportHtml() = 0;
};

// The external data of the original, which a result that is the original byte for byte needs beside
// it, under the names that the model uses.
struct OriginalData {
  std::string folder;  // where the files lie already; empty: they have to be fetched
  std::string name;    // of the model, in that folder
  // By location; relative and not climbing.
  std::map<std::string, std::function<absl::Status(ResultSource::Sink)>> files;
};

class Output {
 public:
  // OPTION_INVALID if one of the files asked for cannot be made, or is asked for twice.
  static absl::StatusOr<Output> Prepare(const Settings& settings);

  // Writes all files, the model last, and prints the report.
  absl::Status Write(ResultSource& source, const OriginalData& original);

 private:
  absl::Status WriteData(ResultSource& source, const OriginalData& original);
  absl::Status CopyData(const OriginalData& original);
  using Reader = std::function<absl::Status(ResultSource::Sink)>;
  absl::Status WriteBeside(const std::string& location, bool may_replace, const Reader& read);
  // All bytes are on the disk: gives all files their names.
  absl::Status Commit();

  std::string model_path_;
  bool json_ = false;
  std::unique_ptr<os::AtomicFile> model_;
  std::vector<std::unique_ptr<os::AtomicFile>> data_;
  std::unique_ptr<os::AtomicFile> report_;
  std::unique_ptr<os::AtomicFile> html_;
};

}  // namespace quotient::cli
