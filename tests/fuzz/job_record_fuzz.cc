// Any bytes in the place of a job's record in the database are a job, which can be shown, run and
// stored again, or are left out; the other jobs are listed and run all the same. The state by which
// the job is searched is that of the record for three of four inputs, and else that of a job that
// waits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/log.h"
#include "core/base/reason.h"
#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/convert.h"
#include "server/jobs/dispatch.h"
#include "server/jobs/ledger.h"
#include "server/store/sqlite/database.h"
#include "server/store/sqlite/job_store.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/memory_dir.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/named_blobs.h"
#include "tests/fuzz/understood.h"
#include "tests/server/support/fake_clock.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose
using quotient::testing::Check;

constexpr char kDamaged[] = "damaged";
constexpr char kWhole[] = "whole";

jobs::Job NewJob(const std::string& id) {
  return {.id = id, .client = id, .action_key = id, .sequence = 1, .create_ms = 1};
}

// A database with two jobs that wait. It is made once, and each run puts the jobs back.
class Jobs {
 public:
  Jobs() {
    auto store = store::OpenSqliteJobStore(folder_ / "jobs.db", &clock_);
    Check(store.ok(), "a store can be opened", store.status());
    store_ = *std::move(store);
    auto database = store::Database::Open(folder_ / "jobs.db", store::Database::Mode::kReadWrite);
    Check(database.ok(), "a database can be opened", database.status());
    database_ = *std::move(database);
  }

  void PutBack() {
    const absl::Status written = store_->Write([&](jobs::JobTransaction& store) {
      for (const char* id : {kDamaged, kWhole}) {
        Check(store.Remove(id).ok() && store.RemoveLease(id).ok() && store.Put(NewJob(id)).ok(),
              "jobs can be put back");
      }
      return absl::OkStatus();
    });
    Check(written.ok(), "jobs can be put back", written);
  }

  void Damage(absl::string_view record) {
    const absl::Status written =
        database_->Run("UPDATE job SET record = ? WHERE id = ?", {store::Bytes{record}, kDamaged});
    Check(written.ok(), "a record can be damaged", written);
  }

  // Makes the damaged job one that is searched for as in this state: job_index alone is searched.
  void SetState(jobs::JobState state) {
    const absl::Status written = database_->Run(
        "UPDATE job_index SET state = ? WHERE number = (SELECT number FROM job WHERE id = ?)",
        {jobs::JobStateName(state), kDamaged});
    Check(written.ok(), "a state can be set", written);
  }

  // Whether the damaged job is one all the same.
  bool Show() {
    const auto found = store_->Get(kDamaged);
    Check(found.ok() || GetReason(found.status()) == Reason::kInternal, "a record is read or not",
          found.status());
    if (found.ok()) CheckJob(**found);
    bool lists_damaged = false, lists_whole = false;
    const absl::Status listed = store_->List({}, [&](int64_t, const jobs::Job& job) {
      (job.id == kWhole ? lists_whole : lists_damaged) = true;
      return true;
    });
    Check(listed.ok() && lists_whole && lists_damaged == found.ok(), "other jobs are listed",
          listed);
    Check(store_->FindByActionKey(kDamaged).ok(), "equal jobs can be looked for");
    return found.ok();
  }

  // Workers do what there is to do.
  void Work() {
    jobs::Ledger ledger(store_.get());
    jobs::Dispatch dispatch(&ledger, &clock_);
    for (int i = 0; i < 2; ++i) {
      const auto claimed = dispatch.Claim("worker");
      Check(claimed.ok(), "jobs can be claimed", claimed.status());
      if (!claimed->has_value()) continue;
      const absl::Status ended =
          dispatch.Finish((*claimed)->lease, MakeError(Reason::kModelMalformed, "a node"));
      Check(ended.ok(), "a job can be ended", ended);
    }
    const auto whole = store_->Get(kWhole);
    Check(whole.ok() && whole->has_value(), "other jobs stay", whole.status());
    Check((*whole)->client == kWhole && (*whole)->state == jobs::JobState::kFailed,
          "other jobs are run");
  }

 private:
  static void CheckJob(const jobs::Job& job) {
    Check(job.id == kDamaged, "a record is of the job under whose id it is");
    jobs::Job again = job;
    const v1::Job message = jobs::ToProto(job, std::nullopt);
    v1::Job read;
    Check(read.ParseFromString(message.SerializeAsString()), "a job can be sent");
    const absl::StatusOr<jobs::Job> parsed = jobs::FromProto(read);
    Check(parsed.ok(), "a job can be stored", parsed.status());
    Check(parsed->spec.model == job.spec.model && parsed->create_ms == job.create_ms &&
              parsed->policy == job.policy && parsed->result == job.result,
          "a job that is stored stays the same");
    Check(jobs::ToSummary(job, std::nullopt).IsInitialized(), "a job can be listed");
  }

  const testing::MemoryDir folder_;
  testing::FakeClock clock_;
  std::unique_ptr<jobs::JobStore> store_;
  std::unique_ptr<store::Database> database_;
};

}  // namespace

QUOTIENT_MUTATES_MESSAGES(v1::Job)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Log().set_level(spdlog::level::off);  // Each record that cannot be read is worth a line.
  std::string record(reinterpret_cast<const char*>(data), size);
  v1::Job message;
  if (message.ParseFromString(record)) {
    testing::ResolveDigests(&message);
    record = message.SerializeAsString();
  }
  static Jobs jobs;
  jobs.PutBack();
  jobs.Damage(record);
  const auto state = jobs::FromProto(message.state());
  if (state.has_value() && record.size() % 4 != 0) jobs.SetState(*state);
  if (jobs.Show()) testing::NoteUnderstood();
  jobs.Work();
  return 0;
}
