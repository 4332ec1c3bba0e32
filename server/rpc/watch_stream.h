#pragma once

#include <grpcpp/support/server_callback.h>

#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"

namespace quotient::rpc {

// Starts the stream of one WatchJob call. The returned object deletes itself when gRPC is done with
// it. Borrows the store and the hub, which must outlive the server. WatchJob in optimizer.proto
// says what is sent.
grpc::ServerWriteReactor<v1::WatchJobResponse>* StartWatchStream(const v1::WatchJobRequest& request,
                                                                 jobs::JobStore& store,
                                                                 jobs::WatchHub& hub);

}  // namespace quotient::rpc
