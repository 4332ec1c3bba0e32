#include "server/runner/job_rights.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/blob_id.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/os/program_folder.h"
#include "server/jobs/convert.h"
#include "server/store/disk/blob_files.h"

namespace quotient::runner {
namespace {

// Programs and libraries, what the dynamic linker and the C library look up, and what the kernel
// tells of the machine. What it tells of other processes is refused as a look into them is.
constexpr const char* kSystem[] = {
    "/usr",        "/lib",
    "/lib32",      "/lib64",
    "/libx32",     "/bin",
    "/sbin",       "/opt",
    "/nix/store",  "/proc",
    "/sys",        "/etc/ld.so.cache",
    "/etc/passwd", "/etc/nsswitch.conf",
    "/etc/group",  "/etc/localtime",
    "/dev/random", "/dev/urandom",
};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero"};

bool IsGpu(absl::string_view device) { return absl::StartsWith(device, "cuda"); }

void AddFolderOf(const std::string& file, std::vector<std::string>* folders) {
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(file, failure);
  if (!failure) folders->push_back(real.parent_path());
}

// The folder, and those in which its files really are.
void AddFolder(const std::string& folder, std::vector<std::string>* folders) {
  folders->push_back(folder);
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (entry->is_symlink(failure)) AddFolderOf(entry->path(), folders);
  }
}

// Where this program, its helpers and their libraries are, and others that they will load.
void AddPrograms(const v1::Setup& setup, const os::Environment& environment,
                 std::vector<std::string>* read) {
  const std::string here = os::ProgramFolder();
  AddFolder(here, read);
  AddFolder(here + "../lib", read);
  AddFolderOf(os::ValueOf(environment, kernels::onnxruntime::kLibraryVariable), read);
  for (const std::string& folder : os::LibraryFolders()) read->push_back(folder);
  for (const std::string& folder : setup.library_folders()) read->push_back(folder);
  const std::string named = os::ValueOf(environment, "LD_LIBRARY_PATH");
  for (absl::string_view folder : absl::StrSplit(named, ':', absl::SkipEmpty())) {
    read->emplace_back(folder);
  }
}

std::vector<BlobId> BlobsOf(const quotient::v1::ModelManifest& manifest) {
  const absl::StatusOr<jobs::Manifest> model = jobs::FromProto(manifest);
  return model.ok() ? jobs::JobSpec{.model = *model}.Blobs() : std::vector<BlobId>();
}

const quotient::v1::Job& JobOf(const v1::Request& request) {
  if (request.has_run()) return request.run().job();
  return request.has_verify() ? request.verify().job() : request.replay().job();
}

// What is read of the store. A request that makes no sense reads nothing and is refused.
std::vector<BlobId> InputsOf(const v1::Request& request) {
  if (request.has_inspect()) return BlobsOf(request.inspect().model());
  if (request.has_validate()) return BlobsOf(request.validate().model());
  const absl::StatusOr<jobs::Job> job = jobs::FromProto(JobOf(request));
  return job.ok() ? jobs::BlobsOf(*job) : std::vector<BlobId>();
}

// Its own folders; the timings of kernels and turns at measuring, which all jobs share; and for a
// GPU its devices and the code that was compiled for it.
void AddJob(const v1::Request& request, const os::Environment& environment, FileRights* rights) {
  const v1::Setup& setup = request.setup();
  rights->own.push_back(setup.outbox_path());
  rights->own.push_back(os::ValueOf(environment, "TMPDIR"));
  rights->write.push_back(setup.timings_path());
  if (!setup.lane_path().empty()) {
    rights->write.push_back(setup.lane_path());
    rights->write.push_back(setup.lane_path() + ".next");
  }
  if (!UsesGpu(request)) return;
  rights->own.push_back(setup.compiled_path());
  rights->own.emplace_back("/dev/shm");
  std::error_code failure;
  std::filesystem::directory_iterator device("/dev", failure);
  for (; !failure && device != std::filesystem::directory_iterator(); device.increment(failure)) {
    if (absl::StartsWith(device->path().filename().string(), "nvidia")) {
      rights->write.push_back(device->path());
    }
  }
}

}  // namespace

bool UsesGpu(const v1::Request& request) {
  return request.has_run() && IsGpu(request.run().job().options().device());
}

FileRights RightsFor(const v1::Request& request, const os::Environment& environment) {
  FileRights rights;
  rights.read.assign(std::begin(kSystem), std::end(kSystem));
  rights.write.assign(std::begin(kDevices), std::end(kDevices));
  AddPrograms(request.setup(), environment, &rights.read);
  for (const BlobId& id : InputsOf(request)) {
    rights.read.push_back(store::BlobPath(request.setup().blobs_path(), id.digest));
  }
  if (request.has_run()) AddJob(request, environment, &rights);
  return rights;
}

}  // namespace quotient::runner
