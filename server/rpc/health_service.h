#pragma once

// Implements grpc.health.v1.Health: whether the server, or a part of it, serves. gRPC brings such a
// service, too, but knows no bound for the streams of its Watch, which are there for as long as
// their clients like.

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include <list>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/clock.h"
#include "server/rpc/stream_slots.h"

namespace quotient::rpc {

// Thread-safe. Must outlive the server.
class HealthService final : public grpc::Service {
 public:
  // The messages of the protocol have one field each: the name of a service, and a number. So these
  // messages have the same wire form, and the protocol's own need not be compiled in.
  using Request = google::protobuf::StringValue;
  using Response = google::protobuf::Int32Value;

  // `watches` limits the streams of Watch. Borrows the clock.
  HealthService(const SlotLimits& watches, const Clock* clock);

  // Sets what is told of `name`, and tells those who watch it.
  void SetServing(const std::string& name, bool serving) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends all streams, also those that begin later. They have no end of their own, and would keep
  // the server from ending.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Check;
  class Watch;

  // Numbers of the protocol.
  enum Status { kServing = 1, kNotServing = 2, kUnknown = 3 };

  Status StatusOf(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  StreamSlots slots_;

  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, Status> services_ ABSL_GUARDED_BY(mutex_);
  std::list<Watch*> watches_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::rpc
