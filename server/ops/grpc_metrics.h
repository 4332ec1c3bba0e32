#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>

#include "core/base/clock.h"
#include "server/ops/metrics.h"

namespace quotient::ops {

// Counts calls and messages of every service. Borrows both.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewGrpcMeter(
    const Clock* clock, Metrics* metrics);

}  // namespace quotient::ops
