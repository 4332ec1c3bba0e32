#include "client/cli/result_cache.h"

#include <fcntl.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/os/files.h"

namespace quotient::cli {
namespace {

constexpr char kContents[] = "contents";
constexpr char kModel[] = "model";
constexpr char kData[] = "data";
constexpr char kReport[] = "report";
constexpr char kHtml[] = "html";
constexpr char kJournal[] = "journal";

constexpr char kStage[] = "new-";       // The names of temporary folders begin with it.
constexpr char kEntry[] = "entry";      // In a temporary folder, what is going to be renamed.
constexpr size_t kMostContents = 4096;  // Bytes; there are five names at most.

using Ids = std::map<std::string, BlobId>;

std::string ContentsText(const Ids& ids) {
  std::string text;
  for (const auto& [name, id] : ids) absl::StrAppend(&text, name, " ", id.Text(), "\n");
  return text;
}

// Nothing if it is not such a text.
std::optional<Ids> ParseContents(absl::string_view text) {
  Ids ids;
  if (text.size() > kMostContents) return std::nullopt;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<std::string, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const std::optional<BlobId> id = BlobId::FromText(entry.second);
    if (!id.has_value()) return std::nullopt;
    ids[entry.first] = *id;
  }
  return ids;
}

// Writes files into a folder and knows their digests.
class EntryWriter {
 public:
  explicit EntryWriter(std::string folder) : folder_(std::move(folder)) {}

  // `read` passes the bytes to the sink that it is given.
  template <typename Read>
  absl::StatusOr<BlobId> Write(const char* name, Read read) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto file,
                              os::AtomicFile::Create(absl::StrCat(folder_, "/", name)));
    Digester digest;
    int64_t size = 0;
    QUOTIENT_RETURN_IF_ERROR(read([&](absl::string_view bytes) {
      digest.Update(bytes);
      size += static_cast<int64_t>(bytes.size());
      return file->Append(bytes);
    }));
    QUOTIENT_RETURN_IF_ERROR(file->Commit());
    return ids_[name] = BlobId{.digest = digest.Finish(), .size_bytes = size};
  }
  absl::Status WriteText(const char* name, const std::string& text) {
    return Write(name, [&](ModelSource::Sink sink) { return sink(text); }).status();
  }
  const Ids& ids() const { return ids_; }

 private:
  const std::string folder_;
  Ids ids_;
};

class KeptResult : public ResultSource {
 public:
  // Opens the files and compares them with their digests.
  static absl::StatusOr<std::unique_ptr<KeptResult>> Open(const std::string& folder,
                                                          const ResultFiles& files) {
    auto result = std::unique_ptr<KeptResult>(new KeptResult(files.data_location));
    QUOTIENT_ASSIGN_OR_RETURN(const auto contents, Map(folder, kContents));
    const std::optional<Ids> ids = ParseContents(contents->bytes());
    if (!ids.has_value() || !ids->contains(kReport) || !ids->contains(kHtml) ||
        !Has(*ids, kModel, files.model) || !Has(*ids, kData, files.data)) {
      return MakeError(Reason::kBlobCorrupt, absl::StrCat(kContents, " is damaged"));
    }
    for (const char* const name : {kModel, kData, kReport, kHtml, kJournal}) {
      if (!ids->contains(name)) continue;
      QUOTIENT_ASSIGN_OR_RETURN(auto file, Map(folder, name));
      if (BlobId::Of(file->bytes()) != ids->at(name)) {
        return MakeError(Reason::kBlobCorrupt, absl::StrCat(name, " is damaged"));
      }
      result->files_[name] = std::move(file);
    }
    return result;
  }

  absl::Status Model(Sink sink) override { return sink(files_.at(kModel)->bytes()); }
  absl::Status ExternalData(Sink sink) override { return sink(files_.at(kData)->bytes()); }
  std::string external_location() const override { return data_location_; }
  absl::StatusOr<std::string> ReportJson() override { return Text(kReport); }
  absl::StatusOr<std::string> ReportHtml() override { return Text(kHtml); }
  absl::StatusOr<std::string> Journal() override { return Text(kJournal); }

 private:
  explicit KeptResult(std::string data_location) : data_location_(std::move(data_location)) {}

  static absl::StatusOr<std::unique_ptr<os::MappedFile>> Map(const std::string& folder,
                                                             const char* name) {
    const std::string path = absl::StrCat(folder, "/", name);
    QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(path, O_RDONLY));
    return os::MappedFile::Map(fd, path);
  }

  // Whether the file is this one; if it is none, whether there is no such file.
  static bool Has(const Ids& ids, const char* name, const std::optional<BlobId>& id) {
    return id.has_value() ? ids.contains(name) && ids.at(name) == *id : !ids.contains(name);
  }

  // "" for a file that the result does not have.
  std::string Text(const char* name) const {
    return files_.contains(name) ? std::string(files_.at(name)->bytes()) : "";
  }

  const std::string data_location_;
  std::map<std::string, std::unique_ptr<os::MappedFile>> files_;
};

std::string FolderOf(const std::string& cache, const Lock& lock) {
  return absl::StrCat(cache, "/", lock.Key());
}

}  // namespace

absl::StatusOr<StagedResult> StagedResult::Of(ResultSource& source, const std::string& cache) {
  StagedResult staged;
  staged.cache_ = cache;
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(cache));
  os::TempFolder::RemoveAbandoned(cache, kStage);
  QUOTIENT_ASSIGN_OR_RETURN(staged.folder_, os::TempFolder::Create(cache, kStage));
  const std::string entry = absl::StrCat(staged.folder_->path(), "/", kEntry);
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(entry));

  EntryWriter writer(entry);
  using Sink = ModelSource::Sink;
  QUOTIENT_ASSIGN_OR_RETURN(staged.report_json_, source.ReportJson());
  QUOTIENT_RETURN_IF_ERROR(writer.WriteText(kReport, staged.report_json_));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string html, source.ReportHtml());
  QUOTIENT_RETURN_IF_ERROR(writer.WriteText(kHtml, html));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string journal, source.Journal());
  if (!journal.empty()) QUOTIENT_RETURN_IF_ERROR(writer.WriteText(kJournal, journal));
  QUOTIENT_ASSIGN_OR_RETURN(staged.files_.model,
                            writer.Write(kModel, [&](Sink sink) { return source.Model(sink); }));
  staged.files_.data_location = source.external_location();
  if (!staged.files_.data_location.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(staged.files_.data, writer.Write(kData, [&](Sink sink) {
      return source.ExternalData(sink);
    }));
  }
  QUOTIENT_RETURN_IF_ERROR(writer.WriteText(kContents, ContentsText(writer.ids())));
  return staged;
}

absl::Status StagedResult::Keep(const Lock& lock) {
  const std::string place = FolderOf(cache_, lock);
  std::error_code failure;
  std::filesystem::remove_all(place, failure);
  std::filesystem::rename(absl::StrCat(folder_->path(), "/", kEntry), place, failure);
  // Another process may have put the same result there meanwhile.
  if (!failure || FindResult(cache_, lock) != nullptr) return absl::OkStatus();
  return MakeError(Reason::kStorageDown,
                   absl::StrCat("cannot write ", Escaped(place), ": ", failure.message()));
}

std::unique_ptr<ResultSource> FindResult(const std::string& cache, const Lock& lock) {
  const std::string folder = FolderOf(cache, lock);
  std::error_code failure;
  if (!std::filesystem::exists(folder, failure)) return nullptr;
  absl::StatusOr<std::unique_ptr<KeptResult>> result = KeptResult::Open(folder, lock.files());
  if (result.ok()) return *std::move(result);
  Log().warn("{} is not used: {}", Escaped(folder), Escaped(result.status().message()));
  return nullptr;
}

}  // namespace quotient::cli
