#pragma once

#include <utility>

#include "quotient/v1/capabilities.grpc.pb.h"
#include "server/rpc/early_handler.h"

namespace quotient::rpc {

// Implements quotient.v1.CapabilitiesService: returns the values given to the constructor.
class CapabilitiesService final : public v1::CapabilitiesService::Service {
 public:
  explicit CapabilitiesService(v1::Capabilities capabilities)
      : capabilities_(std::move(capabilities)) {
    const auto method = &CapabilitiesService::GetCapabilities;
    MarkMethodStreamed(NumberOf<v1::CapabilitiesService>(method), EarlyHandler(this, method));
  }

  grpc::Status GetCapabilities(grpc::ServerContext* /*context*/,
                               const v1::GetCapabilitiesRequest* /*request*/,
                               v1::Capabilities* response) override {
    *response = capabilities_;
    return grpc::Status::OK;
  }

 private:
  const v1::Capabilities capabilities_;
};

}  // namespace quotient::rpc
