#pragma once

// The output files of a command. They are created under temporary names before any work begins, so
// that a wrong path is reported at once. They get their final names only when all are complete.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/settings.h"
#include "client/cpp/model_files.h"
#include "core/os/atomic_file.h"

namespace quotient::cli {

// A file of that name; null if the name is empty. Fails with OPTION_INVALID if it cannot be
// created.
absl::StatusOr<std::unique_ptr<os::AtomicFile>> CreateFile(const std::string& path);

// Output files with their paths. A file that is not asked for is null.
using NamedFiles = std::vector<std::pair<std::string, os::AtomicFile*>>;

// Gives the files their names, in this order, unless files with the same bytes have all of these
// names already. Those then keep their times.
absl::Status CommitUnlessEqual(const NamedFiles& files);

// Returns the name of a result's external data file: the model's file name and ".data".
std::string ExternalLocation(const std::string& output);

// The bytes of a model that a command made.
class ModelSource {
 public:
  using Sink = absl::FunctionRef<absl::Status(absl::string_view)>;

  virtual ~ModelSource() = default;
  virtual absl::Status Model(Sink sink) = 0;
  virtual absl::Status ExternalData(Sink sink) = 0;
  // Empty if the weights are inside the model.
  virtual std::string external_location() const = 0;
};

// The bytes of a job's result, which are in this process or on a server.
class ResultSource : public ModelSource {
 public:
  virtual absl::StatusOr<std::string> ReportJson() = 0;
  virtual absl::StatusOr<std::string> ReportHtml() = 0;
  // Empty if the result has none.
  virtual absl::StatusOr<std::string> Journal() = 0;
};

// The external data of the original model. If the result equals the original byte for byte, it
// needs these files in its own folder, under the names that the model uses.
struct OriginalData {
  std::string folder;  // The folder of the original; empty if its files have to be fetched.
  // By location. Locations are relative and contain no "..".
  std::map<std::string, std::function<absl::Status(ModelSource::Sink)>> files;
};

// That of a model here. Borrows the model.
OriginalData ExternalDataOf(const client::LocalModel& model);

class Output {
 public:
  // Creates the files. Returns OPTION_INVALID if one cannot be created, is named twice, or would
  // replace external data of the original. The parser knows of the inputs that are options. The
  // settings need a model if they have a depfile.
  static absl::StatusOr<Output> Prepare(const Settings& settings, const OriginalData& original);

  // Writes all files, the model last, and prints the report. Fails with OPTION_INVALID if the
  // result's weights would replace external data of the original, and with JOURNAL_MISSING, after
  // all else was written, if the result has no journal though one was asked for. If the result
  // gains less than the settings require, only the reports are written, and it fails with
  // IMPROVEMENT_TOO_SMALL.
  absl::Status Write(ResultSource& source, const OriginalData& original);
  // Writes the model alone, after its weights, and gives all files their names. `is_original`:
  // whether it is the original byte for byte. Fails as Write does.
  absl::Status WriteModel(ModelSource& source, const OriginalData& original, bool is_original);

 private:
  absl::Status WriteData(ModelSource& source, const OriginalData& original);
  absl::Status CopyData(const OriginalData& original);
  absl::Status WriteJournal(ResultSource& source);
  absl::Status WriteDepfile(const Settings& settings, const OriginalData& original);
  using Reader = std::function<absl::Status(ModelSource::Sink)>;
  absl::Status WriteBeside(const std::string& location, bool may_replace, const Reader& read);
  // Gives all files their final names, when the bytes of all are on disk.
  absl::Status Commit();
  absl::Status CommitTogether(const NamedFiles& files);

  std::string model_path_;
  std::string report_path_;
  std::string html_path_;
  std::string journal_path_;
  std::string depfile_path_;
  bool json_ = false;
  bool keeps_equal_ = false;     // Whether files that are there with the same bytes stay.
  double required_percent_ = 0;  // What the result has to gain; 0: it need not.
  std::unique_ptr<os::AtomicFile> model_;
  std::vector<std::pair<std::string, std::unique_ptr<os::AtomicFile>>> data_;  // With their paths.
  std::unique_ptr<os::AtomicFile> report_;
  std::unique_ptr<os::AtomicFile> html_;
  std::unique_ptr<os::AtomicFile> journal_;  // Null, too, if there is nothing to write.
  std::unique_ptr<os::AtomicFile> depfile_;
};

}  // namespace quotient::cli
