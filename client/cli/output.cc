#include "client/cli/output.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/dependency_file.h"
#include "client/cli/improvement.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"
#include "core/report/report.h"

namespace quotient::cli {

absl::StatusOr<std::unique_ptr<os::AtomicFile>> CreateFile(const std::string& path) {
  if (path.empty()) return std::unique_ptr<os::AtomicFile>();
  absl::StatusOr<std::unique_ptr<os::AtomicFile>> file = os::AtomicFile::Create(path);
  if (!file.ok()) return MakeError(Reason::kOptionInvalid, file.status().message());
  return file;
}

namespace {

absl::Status CommitAll(const NamedFiles& files) {
  for (const auto& [path, file] : files) {
    if (file != nullptr) QUOTIENT_RETURN_IF_ERROR(file->Commit());
  }
  return absl::OkStatus();
}

// Returns an error if two outputs are the same file, since the second would replace the first.
absl::Status CheckDistinct(std::vector<std::string> paths) {
  std::erase(paths, "");
  for (size_t i = 0; i < paths.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!os::SamePlace(paths[i], paths[j])) continue;
      return MakeError(Reason::kOptionInvalid, absl::StrCat(paths[i], " is asked for twice"));
    }
  }
  return absl::OkStatus();
}

// Whether a path leads to weights of the original model.
bool IsWeightsOf(const OriginalData& original, const std::string& path) {
  if (original.folder.empty()) return false;
  return std::ranges::any_of(original.files, [&](const auto& file) {
    return os::SamePlace(absl::StrCat(original.folder, "/", file.first), path);
  });
}

absl::Status CheckWeightsStay(const OriginalData& original, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.empty() || !IsWeightsOf(original, path)) continue;
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat(Escaped(path), " has weights of the input model"));
  }
  return absl::OkStatus();
}

absl::Status AppendAndSeal(const std::string& bytes, os::AtomicFile& file) {
  QUOTIENT_RETURN_IF_ERROR(file.Append(bytes));
  return file.Seal();
}

// Whether a name from the server, which is not trusted, is a file name without folders.
bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && !absl::StrContains(name, '/') &&
         !absl::StrContains(name, '\0');
}

// Whether `inner` is inside `folder` after links are resolved.
bool StaysInside(const std::string& folder, const std::string& inner) {
  std::error_code failure;
  const std::filesystem::path outside = std::filesystem::weakly_canonical(folder, failure);
  if (failure) return false;
  const std::filesystem::path inside = std::filesystem::weakly_canonical(inner, failure);
  return !failure && std::ranges::mismatch(outside, inside).in1 == outside.end();
}

}  // namespace

absl::Status CommitUnlessEqual(const NamedFiles& files) {
  for (const auto& [path, file] : files) {
    if (file == nullptr) continue;
    QUOTIENT_RETURN_IF_ERROR(file->Seal());
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) return CommitAll(files);
    QUOTIENT_ASSIGN_OR_RETURN(const bool replaces, file->WouldReplaceOther());
    if (replaces) return CommitAll(files);
  }
  return absl::OkStatus();
}

std::string ExternalLocation(const std::string& output) {
  return absl::StrCat(os::BaseName(output.empty() ? "model.onnx" : output), ".data");
}

OriginalData ExternalDataOf(const client::LocalModel& model) {
  OriginalData data{.folder = model.folder(), .files = {}};
  for (const auto& [location, file] : model.external()) {
    data.files[location] = [bytes = file->bytes()](ModelSource::Sink sink) { return sink(bytes); };
  }
  return data;
}

absl::StatusOr<Output> Output::Prepare(const Settings& settings, const OriginalData& original) {
  Output output;
  output.model_path_ = settings.output;
  output.report_path_ = settings.report;
  output.html_path_ = settings.html;
  output.journal_path_ = settings.journal;
  output.depfile_path_ = settings.depfile;
  output.json_ = settings.json;
  output.keeps_equal_ = settings.restat;
  output.required_percent_ = settings.required_percent;
  const std::vector<std::string> paths = {settings.output,  settings.report,  settings.html,
                                          settings.journal, settings.depfile, settings.lock};
  QUOTIENT_RETURN_IF_ERROR(CheckWeightsStay(original, paths));
  QUOTIENT_RETURN_IF_ERROR(CheckDistinct(paths));
  QUOTIENT_ASSIGN_OR_RETURN(output.model_, CreateFile(settings.output));
  QUOTIENT_ASSIGN_OR_RETURN(output.report_, CreateFile(settings.report));
  QUOTIENT_ASSIGN_OR_RETURN(output.html_, CreateFile(settings.html));
  QUOTIENT_ASSIGN_OR_RETURN(output.journal_, CreateFile(settings.journal));
  QUOTIENT_ASSIGN_OR_RETURN(output.depfile_, CreateFile(settings.depfile));
  if (output.depfile_ != nullptr) {
    QUOTIENT_RETURN_IF_ERROR(output.WriteDepfile(settings, original));
  }
  return output;
}

absl::Status Output::WriteDepfile(const Settings& settings, const OriginalData& original) {
  std::vector<std::string> files = {settings.positional[0]};
  for (const auto& [location, read] : original.files) {
    files.push_back(absl::StrCat(original.folder, "/", location));
  }
  if (!settings.device_snapshot.empty()) files.push_back(settings.device_snapshot);
  if (!settings.lock.empty() && !settings.update_lock) files.push_back(settings.lock);
  const bool has_target = !settings.depfile_target.empty();
  QUOTIENT_ASSIGN_OR_RETURN(
      const std::string rule,
      DependencyRule(has_target ? settings.depfile_target : settings.output, files));
  return AppendAndSeal(rule, *depfile_);
}

absl::Status Output::WriteData(ModelSource& source, const OriginalData& original) {
  const std::string location = source.external_location();
  if (!IsPlainName(location) || location == os::BaseName(model_path_)) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("the result's data file is called '", Escaped(location), "'"));
  }
  QUOTIENT_RETURN_IF_ERROR(
      CheckWeightsStay(original, {absl::StrCat(os::DirectoryOf(model_path_), "/", location)}));
  // A file named after the output comes from an earlier run and may be replaced.
  const bool may_replace = location == ExternalLocation(model_path_);
  return WriteBeside(location, may_replace,
                     [&](ModelSource::Sink sink) { return source.ExternalData(sink); });
}

absl::Status Output::CopyData(const OriginalData& original) {
  if (os::SameFile(os::DirectoryOf(model_path_), original.folder)) {
    // They may have changed where they are, so the result must not look as if it had not.
    if (!original.files.empty()) keeps_equal_ = false;
    return absl::OkStatus();
  }
  for (const auto& [location, read] : original.files) {
    const bool may_replace = location == ExternalLocation(model_path_);
    QUOTIENT_RETURN_IF_ERROR(WriteBeside(location, may_replace, read));
  }
  return absl::OkStatus();
}

// The model and not the user chose the names of its data files. An existing file with such a name,
// such as the weights of another model, is therefore not replaced.
absl::Status Output::WriteBeside(const std::string& location, bool may_replace,
                                 const Reader& read) {
  const std::string folder = os::DirectoryOf(model_path_);
  const std::string path = absl::StrCat(folder, "/", location);
  if (location == os::BaseName(model_path_)) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat(model_path_, " is what the model calls its weights"));
  }
  QUOTIENT_RETURN_IF_ERROR(
      CheckDistinct({report_path_, html_path_, journal_path_, depfile_path_, path}));
  if (!StaysInside(folder, os::DirectoryOf(path))) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat(Escaped(path), " leads out of the folder of ", model_path_));
  }
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(os::DirectoryOf(path)));
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<os::AtomicFile> created, os::AtomicFile::Create(path));
  os::AtomicFile& file = *data_.emplace_back(path, std::move(created)).second;
  QUOTIENT_RETURN_IF_ERROR(read([&file](absl::string_view bytes) { return file.Append(bytes); }));
  QUOTIENT_RETURN_IF_ERROR(file.Seal());
  if (may_replace) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const bool replaces, file.WouldReplaceOther());
  if (!replaces) return absl::OkStatus();
  return MakeError(Reason::kOptionInvalid,
                   absl::StrCat(Escaped(path),
                                " is there with other content, and the model needs "
                                "its weights under that name: choose another folder with -o"));
}

absl::Status Output::Write(ResultSource& source, const OriginalData& original) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string json, source.ReportJson());
  QUOTIENT_ASSIGN_OR_RETURN(const report::Report report, report::ReportFromJson(json));
  if (report_ != nullptr) QUOTIENT_RETURN_IF_ERROR(AppendAndSeal(json, *report_));
  if (html_ != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::string html, source.ReportHtml());
    QUOTIENT_RETURN_IF_ERROR(AppendAndSeal(html, *html_));
  }
  const absl::Status gain =
      required_percent_ > 0 ? CheckImprovement(report, required_percent_) : absl::OkStatus();
  const bool wants_journal = gain.ok() && journal_ != nullptr;
  if (wants_journal) QUOTIENT_RETURN_IF_ERROR(WriteJournal(source));
  if (gain.ok()) {
    const bool is_original = report.outcome == report::Outcome::kNoImprovement;
    QUOTIENT_RETURN_IF_ERROR(WriteModel(source, original, is_original));
  } else {
    for (auto* const file : {&model_, &journal_, &depfile_}) file->reset();
    QUOTIENT_RETURN_IF_ERROR(Commit());
  }
  std::fputs((json_ ? json : Printable(report::ToTable(report))).c_str(), stdout);
  if (!wants_journal || journal_ != nullptr) return gain;
  return MakeError(
      Reason::kJournalMissing,
      "there is no journal: a note of the report says why, or the result is of a version "
      "before 0.3; all else was written");
}

absl::Status Output::WriteJournal(ResultSource& source) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string journal, source.Journal());
  if (!journal.empty()) return AppendAndSeal(journal, *journal_);
  journal_.reset();
  return absl::OkStatus();
}

absl::Status Output::WriteModel(ModelSource& source, const OriginalData& original,
                                bool is_original) {
  if (model_ != nullptr) {
    if (!source.external_location().empty()) QUOTIENT_RETURN_IF_ERROR(WriteData(source, original));
    if (is_original) QUOTIENT_RETURN_IF_ERROR(CopyData(original));
    QUOTIENT_RETURN_IF_ERROR(
        source.Model([this](absl::string_view bytes) { return model_->Append(bytes); }));
    QUOTIENT_RETURN_IF_ERROR(model_->Seal());
  }
  return Commit();
}

absl::Status Output::CommitTogether(const NamedFiles& files) {
  return keeps_equal_ ? CommitUnlessEqual(files) : CommitAll(files);
}

// The model is renamed last, so that its weights exist when it appears. Both have one time: a build
// looks at the model alone to know whether there is a new result.
absl::Status Output::Commit() {
  QUOTIENT_RETURN_IF_ERROR(CommitTogether({{report_path_, report_.get()}}));
  QUOTIENT_RETURN_IF_ERROR(CommitTogether({{html_path_, html_.get()}}));
  QUOTIENT_RETURN_IF_ERROR(CommitTogether({{journal_path_, journal_.get()}}));
  QUOTIENT_RETURN_IF_ERROR(CommitTogether({{depfile_path_, depfile_.get()}}));
  NamedFiles model;
  for (const auto& [path, file] : data_) model.emplace_back(path, file.get());
  model.emplace_back(model_path_, model_.get());
  return CommitTogether(model);
}

}  // namespace quotient::cli
