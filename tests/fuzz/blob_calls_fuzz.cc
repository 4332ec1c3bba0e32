// Any calls of the service of blobs on real stores, with any frames in the streams of uploads,
// restarts and expiry in between, do what a simple model of blobs and uploads says: nothing is
// stored under a digest that it does not have, what is committed stays, what was never announced is
// not read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "core/base/blob_id.h"
#include "proto/wire/digest.h"
#include "server/rpc/blob_service.h"
#include "server/rpc/status.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/upload_store.h"
#include "tests/fuzz/memory_dir.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/named_blobs.h"
#include "tests/fuzz/rpc_checks.h"
#include "tests/fuzz/scripts.pb.h"
#include "tests/fuzz/understood.h"
#include "tests/server/support/fake_clock.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::fuzz::v1::BlobScript;
using quotient::fuzz::v1::BlobStep;
using quotient::fuzz::v1::UploadStream;
using quotient::testing::Check;
using Frames = google::protobuf::RepeatedPtrField<v1::UploadRequest>;

// More takes longer and shows nothing new.
constexpr int kMostSteps = 24;
// Small, so that scripts reach them.
constexpr int64_t kMostChunkBytes = 64;
constexpr int64_t kMostBlobBytes = 1 << 12;
constexpr store::UploadLimits kUploads{
    .max_open = 4, .max_open_per_client = 3, .max_open_per_blob = 2, .max_bytes_per_client = 6000};
constexpr int64_t kFarFutureMs = int64_t{1} << 50;

// What the stores should hold.
struct Model {
  struct Upload {
    BlobId blob;
    std::string bytes;
  };
  std::map<BlobId, std::string> blobs;
  std::map<std::string, Upload> uploads;

  // Returns the code with which a stream ends, and changes what it changes.
  absl::StatusCode Receive(const Frames& frames, int64_t* committed) {
    if (frames.empty() || !frames[0].has_header()) return absl::StatusCode::kInvalidArgument;
    const auto found = uploads.find(frames[0].header().upload_id());
    if (found == uploads.end()) return absl::StatusCode::kNotFound;
    auto& [blob, bytes] = found->second;
    if (frames[0].header().offset() != static_cast<int64_t>(bytes.size())) {
      return absl::StatusCode::kOutOfRange;
    }
    for (int i = 1; i < frames.size(); ++i) {
      if (frames[i].has_finish()) return Finish(found, committed);
      if (!frames[i].has_data()) return absl::StatusCode::kInvalidArgument;
      const std::string& data = frames[i].data();
      const size_t room = static_cast<size_t>(blob.size_bytes) - bytes.size();
      if (data.size() > kMostChunkBytes || data.size() > room) {
        return absl::StatusCode::kInvalidArgument;
      }
      bytes += data;
    }
    *committed = static_cast<int64_t>(bytes.size());
    return absl::StatusCode::kOk;
  }

  absl::StatusCode Finish(std::map<std::string, Upload>::iterator place, int64_t* committed) {
    const Upload upload = std::move(place->second);
    uploads.erase(place);
    if (BlobId::Of(upload.bytes) != upload.blob) return absl::StatusCode::kInvalidArgument;
    blobs[upload.blob] = upload.bytes;
    *committed = upload.blob.size_bytes;
    return absl::StatusCode::kOk;
  }
};

class Server {
 public:
  Server() { Open(); }

  void Run(const BlobScript& script) {
    for (int i = 0; i < std::min(script.steps_size(), kMostSteps); ++i) Take(script.steps(i));
    for (const auto& [id, bytes] : model_.blobs) CheckDownload(id, 0);
  }

 private:
  void Open() {
    service_.reset();
    uploads_.reset();
    auto blobs = store::DiskBlobStore::Open(
        folder_ / "blobs", {.max_blob_bytes = kMostBlobBytes, .min_free_bytes = 0});
    Check(blobs.ok(), "a store can be opened", blobs.status());
    blobs_ = *std::move(blobs);
    auto uploads = store::DiskUploadStore::Open(folder_ / "uploads", blobs_.get(), kUploads,
                                                &hash_turns_, &clock_);
    Check(uploads.ok(), "a store can be opened", uploads.status());
    uploads_ = *std::move(uploads);
    service_ = std::make_unique<rpc::BlobService>(
        rpc::BlobLimits{.max_chunk_bytes = kMostChunkBytes}, blobs_.get(), uploads_.get(), &clock_);
  }

  void Take(const BlobStep& step) {
    switch (step.step_case()) {
      case BlobStep::kFindMissing:
        return FindMissing(step.find_missing());
      case BlobStep::kStart:
        return Start(step.start());
      case BlobStep::kUpload:
        return Upload(step.upload());
      case BlobStep::kQuery:
        return Query(step.query().upload_id());
      case BlobStep::kDownload:
        return Download(step.download());
      case BlobStep::kExpireMs:
        return Expire(step.expire_ms());
      case BlobStep::kRestart:
        // Uploads are idle by then.
        clock_.AdvanceMs(2 * kUploads.idle_ms);
        return Open();
      case BlobStep::STEP_NOT_SET:
        return;
    }
  }

  // "$1" stands for the second upload that was begun.
  std::string UploadId(const std::string& name) const {
    absl::string_view number = name;
    size_t index = 0;
    const bool is_begun = absl::ConsumePrefix(&number, "$") && absl::SimpleAtoi(number, &index) &&
                          index < upload_ids_.size();
    return is_begun ? upload_ids_[index] : name;
  }

  void FindMissing(const v1::FindMissingRequest& request) {
    v1::FindMissingResponse response;
    const grpc::Status status = service_->FindMissing(&context_, &request, &response);
    if (!status.ok()) return testing::CheckError(status);
    testing::CheckAnswer(response);
    int missing = 0;
    for (const v1::Digest& digest : request.blobs()) {
      const auto id = wire::FromProto(digest);
      Check(id.ok(), "what is asked for has a digest", id.status());
      if (!model_.blobs.contains(*id)) ++missing;
    }
    Check(missing == response.missing_size(), "blobs are there that should be");
  }

  void Start(const v1::StartUploadRequest& request) {
    v1::StartUploadResponse response;
    const grpc::Status status = service_->StartUpload(&context_, &request, &response);
    if (!status.ok()) return testing::CheckError(status);
    const auto id = wire::FromProto(request.blob());
    Check(id.ok() && id->size_bytes <= kMostBlobBytes, "an upload is of a blob", id.status());
    Check(response.done() == model_.blobs.contains(*id), "nothing is sent twice");
    if (response.done()) return;
    const auto [place, is_new] = model_.uploads.try_emplace(response.upload_id());
    if (is_new) {
      place->second.blob = *id;
      upload_ids_.push_back(response.upload_id());
    }
    Check(place->second.blob == *id, "an upload that is given out again is of the same blob");
    Check(response.committed_offset() == static_cast<int64_t>(place->second.bytes.size()),
          "an upload begins where it was left");
  }

  void Upload(const UploadStream& stream) {
    Frames frames = stream.frames();
    for (v1::UploadRequest& frame : frames) {
      if (!frame.has_header()) continue;
      frame.mutable_header()->set_upload_id(UploadId(frame.header().upload_id()));
    }
    int next = 0;
    const auto read = [&](v1::UploadRequest* request) {
      if (next == frames.size()) return false;
      *request = frames[next++];
      return true;
    };
    v1::UploadResponse response;
    const absl::Status status = service_->Receive(read, &response);
    if (!status.ok()) testing::CheckError(rpc::ToGrpc(status));
    int64_t committed = 0;
    Check(status.code() == model_.Receive(frames, &committed), "a stream ends as it has to",
          status);
    Check(!status.ok() || response.committed_offset() == committed, "a stream commits its bytes");
    if (!frames.empty()) Query(frames[0].header().upload_id());
  }

  void Query(const std::string& name) {
    v1::QueryUploadRequest request;
    request.set_upload_id(UploadId(name));
    v1::QueryUploadResponse response;
    const grpc::Status status = service_->QueryUpload(&context_, &request, &response);
    const auto found = model_.uploads.find(request.upload_id());
    Check(status.ok() == (found != model_.uploads.end()), "uploads are there that should be");
    if (!status.ok()) return testing::CheckError(status);
    Check(response.committed_offset() == static_cast<int64_t>(found->second.bytes.size()),
          "what was committed stays");
  }

  void Download(const v1::DownloadRequest& request) {
    const auto id = wire::FromProto(request.blob());
    if (id.ok()) return CheckDownload(*id, request.offset());
    const absl::Status status = service_->Send(request, [](const auto&) { return true; });
    Check(!status.ok(), "what has no digest is not there");
    testing::CheckError(rpc::ToGrpc(status));
  }

  void CheckDownload(const BlobId& id, int64_t offset) {
    v1::DownloadRequest request;
    *request.mutable_blob() = wire::ToProto(id);
    request.set_offset(offset);
    std::string bytes;
    const absl::Status status =
        service_->Send(request, [&bytes](const v1::DownloadResponse& response) {
          Check(response.data().size() <= kMostChunkBytes, "chunks are small");
          bytes += response.data();
          return true;
        });
    const bool in_range = offset >= 0 && offset <= id.size_bytes;
    const auto found = model_.blobs.find(id);
    Check(status.ok() == (in_range && found != model_.blobs.end()), "blobs can be read", status);
    if (!status.ok()) return testing::CheckError(rpc::ToGrpc(status));
    Check(bytes == found->second.substr(static_cast<size_t>(offset)), "blobs are what was sent");
  }

  // The age of files is that of the machine's clock, which no script can set.
  void Expire(int64_t ms) {
    const int64_t before_ms = ms > 0 ? kFarFutureMs : 0;
    Check(uploads_->Expire(before_ms, before_ms).ok(), "uploads can expire");
    if (ms > 0) model_.uploads.clear();
  }

  const testing::MemoryDir folder_;
  testing::FakeClock clock_;
  store::HashTurns hash_turns_{1};
  grpc::ServerContext context_;
  std::unique_ptr<store::DiskBlobStore> blobs_;
  std::unique_ptr<store::DiskUploadStore> uploads_;
  std::unique_ptr<rpc::BlobService> service_;
  Model model_;
  std::vector<std::string> upload_ids_;
};

}  // namespace

QUOTIENT_MUTATES_MESSAGES(BlobScript)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  BlobScript script;
  if (!script.ParseFromArray(data, static_cast<int>(size)) || script.steps().empty()) return 0;
  testing::NoteUnderstood();
  testing::ResolveDigests(&script);
  Server().Run(script);
  return 0;
}
