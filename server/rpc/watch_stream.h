#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/status/statusor.h"
#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/admission.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

// Starts the stream of one WatchJob call, which holds the slot until it ends. If `slot` is an error
// it ends at once, with that. The returned object deletes itself when gRPC is done with it.
// Borrows the admission, the store and the hub, which must outlive the server. WatchJob in
// optimizer.proto says what is sent.
grpc::ServerWriteReactor<v1::WatchJobResponse>* StartWatchStream(
    const v1::WatchJobRequest& request, absl::StatusOr<std::unique_ptr<StreamSlots::Slot>> slot,
    jobs::Admission& admission, jobs::JobStore& store, jobs::WatchHub& hub);

}  // namespace quotient::rpc
