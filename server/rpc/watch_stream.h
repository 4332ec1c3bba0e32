#pragma once

#include <grpcpp/support/server_callback.h>

#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/admission.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

// Starts the stream of one WatchJob call, which takes one of `slots` when its request has come, and
// holds it until it ends. The returned object deletes itself when gRPC is done with it. Borrows all
// but the context, which must outlive the server. WatchJob in optimizer.proto says what is sent.
grpc::ServerBidiReactor<v1::WatchJobRequest, v1::WatchJobResponse>* StartWatchStream(
    grpc::CallbackServerContext* context, StreamSlots& slots, jobs::Admission& admission,
    jobs::JobStore& store, jobs::WatchHub& hub);

}  // namespace quotient::rpc
