#include "server/recovery.h"

#include <utility>

#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"

namespace quotient {

Recovery::Recovery(std::string path, jobs::Dispatch* dispatch, jobs::Checkpoints* checkpoints)
    : path_(std::move(path)),
      boot_id_(store::BootId()),
      dispatch_(*dispatch),
      checkpoints_(*checkpoints) {}

absl::Status Recovery::Run() {
  absl::MutexLock lock(&mutex_);
  if (record_ != nullptr) return absl::OkStatus();
  // This process alone owns the data folder, so the workers of all earlier leases are dead.
  QUOTIENT_ASSIGN_OR_RETURN(const int recovered,
                            dispatch_.RecoverAll(store::RunRecord::Read(path_, boot_id_)));
  os::FaultPoint("start.recovered");
  if (recovered > 0) Log().info("{} interrupted jobs taken up again", recovered);
  QUOTIENT_RETURN_IF_ERROR(checkpoints_.RemoveEnded().status());
  os::FaultPoint("start.cleaned");
  QUOTIENT_ASSIGN_OR_RETURN(record_, store::RunRecord::Begin(path_, boot_id_));
  return absl::OkStatus();
}

void Recovery::NoteTold() {
  absl::MutexLock lock(&mutex_);
  if (record_ == nullptr) return;
  if (const absl::Status noted = record_->NoteTold(); !noted.ok()) {
    Log().error("the end is not noted: {}", std::string(noted.message()));
  }
}

}  // namespace quotient
