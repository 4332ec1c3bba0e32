#pragma once

#include <grpcpp/support/server_callback.h>

#include "quotient/v1/optimizer.pb.h"
#include "server/jobs/job_store.h"
#include "server/jobs/watch_hub.h"

namespace quotient::rpc {

// One WatchJob call. Owns itself until gRPC is done with it. Borrows store and hub, which must
// outlive the server. See WatchJob in optimizer.proto for what is sent.
grpc::ServerWriteReactor<v1::WatchJobResponse>* StartWatchStream(const v1::WatchJobRequest& request,
                                                                 jobs::JobStore& store,
                                                                 jobs::WatchHub& hub);

}  // namespace quotient::rpc
