// Any text is a job's name, a page token, an upload's id, a digest, a trace or none; what is taken
// for one has no other text, no text leads to a file outside of a store, and what is shown of it to
// people and to clients is printable and UTF-8.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/base/blob_id.h"
#include "core/base/log.h"
#include "core/optimize/options.h"
#include "proto/wire/status.h"
#include "quotient/v1/optimizer.pb.h"
#include "server/config/log_format.h"
#include "server/jobs/convert.h"
#include "server/rpc/page_token.h"
#include "server/rpc/peer.h"
#include "server/store/disk/blob_store.h"
#include "server/store/disk/checkpoint_store.h"
#include "server/store/disk/upload_state.h"
#include "server/store/disk/upload_store.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_dir.h"
#include "tests/fuzz/understood.h"
#include "tests/server/support/fake_clock.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::testing::Check;

// Stores without content, beside files that no id may lead to.
class Stores {
 public:
  Stores() {
    auto blobs = store::DiskBlobStore::Open(folder_ / "blobs", {.min_free_bytes = 0});
    Check(blobs.ok(), "a store can be opened", blobs.status());
    blobs_ = *std::move(blobs);
    auto uploads =
        store::DiskUploadStore::Open(folder_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_);
    Check(uploads.ok(), "a store can be opened", uploads.status());
    uploads_ = *std::move(uploads);
    auto checkpoints = store::DiskCheckpointStore::Open(folder_ / "checkpoints", blobs_.get());
    Check(checkpoints.ok(), "a store can be opened", checkpoints.status());
    checkpoints_ = *std::move(checkpoints);
    // An upload beside the store: "../a".
    std::ofstream(folder_ / "a") << "secret";
    const store::UploadState state{.blob = BlobId::Of("secret"), .committed = 6, .client = "a"};
    Check(store::WriteUploadState(folder_ / "a.state", state).ok(), "a file can be written");
  }

  void LookFor(const std::string& id) {
    Check(absl::IsNotFound(uploads_->CommittedOffset(id).status()), "there is no such upload");
    Check(absl::IsNotFound(uploads_->Resume(id, 6).status()), "there is no such upload");
    Check(absl::IsNotFound(checkpoints_->Get(id).status()), "there is no such checkpoint");
  }

  bool ReadState(const std::string& text) {
    const std::string path = folder_ / "state";
    std::ofstream(path, std::ios::binary) << text;
    const auto state = store::ReadUploadState(path);
    if (!state.ok()) return false;
    Check(state->committed >= 0 && state->committed <= state->blob.size_bytes,
          "an upload has no more than its blob");
    // What is written is of fixed length, whatever there was.
    std::ofstream(path, std::ios::trunc);
    Check(store::WriteUploadState(path, *state).ok(), "a state can be written");
    const auto again = store::ReadUploadState(path);
    Check(again.ok() && again->blob == state->blob && again->committed == state->committed,
          "a state stays the same");
    return true;
  }

 private:
  const testing::MemoryDir folder_;
  testing::FakeClock clock_;
  store::HashTurns hash_turns_{1};
  std::unique_ptr<store::DiskBlobStore> blobs_;
  std::unique_ptr<store::DiskUploadStore> uploads_;
  std::unique_ptr<store::DiskCheckpointStore> checkpoints_;
};

// The text before a line end is a token, that after it a client.
bool ReadToken(const std::string& text) {
  bool understood = false;
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string token = text.substr(0, end);
  const jobs::JobFilter some{.state = jobs::JobState::kFailed,
                             .client = text.substr(std::min(end + 1, text.size()))};
  for (const jobs::JobFilter& filter : {jobs::JobFilter(), some}) {
    const auto number = rpc::ReadPageToken(token, filter);
    if (!number.ok()) continue;
    Check(*number > 0 && rpc::MakePageToken(*number, filter) == token, "a token has one text");
    jobs::JobFilter other = filter;
    other.graph_sha256 = "another";
    Check(!rpc::ReadPageToken(token, other).ok(), "a token is of one list");
    understood = true;
  }
  return understood;
}

bool ReadNames(const std::string& text) {
  const auto id = jobs::JobIdFromName(text);
  Check(!id.ok() || jobs::JobName(*id) == text, "a name has one text");
  const std::optional<BlobId> blob = BlobId::FromText(text);
  Check(!blob.has_value() || blob->Text() == text, "a blob has one text");
  const std::optional<Digest> digest = Digest::FromHex(text);
  Check(!digest.has_value() || digest->Hex() == text, "a digest has one text");
  const std::optional<BlobId> snapshot = optimize::SnapshotOf(text);
  Check(!snapshot.has_value() || text == "snapshot:" + snapshot->Text(), "a snapshot has one name");
  const std::string trace = config::TraceIdOf(text);
  Check(trace.empty() || (trace.size() == 32 && absl::StrContains(text, trace) &&
                          std::ranges::all_of(trace, absl::ascii_isxdigit)),
        "a trace is part of its header");
  Check(!absl::StrContains(rpc::PeerHost(text), ' '), "a client has no spaces");
  return id.ok() || blob.has_value() || digest.has_value() || snapshot.has_value() ||
         !trace.empty();
}

void ShowText(const std::string& text) {
  Check(std::ranges::all_of(Escaped(text), absl::ascii_isprint), "logs are printable");
  const std::string utf8 = wire::Utf8(text);
  v1::GetJobRequest message;
  message.set_name(utf8);
  Check(message.ParseFromString(message.SerializeAsString()), "texts of messages are UTF-8");
  Check(wire::Utf8(utf8) == utf8, "what is UTF-8 stays");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  ShowText(text);
  static Stores stores;
  stores.LookFor(text);
  bool understood = ReadNames(text);
  understood |= ReadToken(text);
  understood |= stores.ReadState(text);
  if (understood) testing::NoteUnderstood();
  return 0;
}
