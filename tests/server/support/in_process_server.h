#pragma once

// All of a server but its main(): real stores in a temporary folder, real gRPC on a free port, a
// fake runner.

#include <memory>
#include <string>
#include <utility>

#include "server/ops/grpc_metrics.h"
#include "server/ops/metrics.h"
#include "server/ops/ticker.h"
#include "server/rpc/blob_service.h"
#include "server/rpc/capabilities_service.h"
#include "server/rpc/model_service.h"
#include "server/rpc/optimizer_service.h"
#include "server/rpc/server.h"
#include "server/rpc/unread_replies.h"
#include "server/rpc/unsent_requests.h"
#include "server/store/disk/upload_store.h"
#include "server/store/sqlite/job_store.h"
#include "server/worker/worker_pool.h"
#include "tests/server/support/fake_runner.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::testing {

class ServerTest : public QueueTest {
 protected:
  ServerTest() {
    auto store = store::OpenSqliteJobStore(dir_ / "jobs.db", &clock_);
    EXPECT_OK(store);
    store_ = *std::move(store);
    auto uploads =
        store::DiskUploadStore::Open(dir_ / "uploads", blobs_.get(), {}, &hash_turns_, &clock_);
    EXPECT_OK(uploads);
    uploads_ = *std::move(uploads);
    Restart();
    StartServer("127.0.0.1:0");
  }

  ~ServerTest() override { StopServer(); }

  void StartServer(const std::string& listen) {
    EXPECT_OK(dispatch_->RecoverAll({}));
    pool_ = std::make_unique<worker::WorkerPool>(
        worker::PoolSettings{}, worker::WorkerPool::Dependencies{.ledger = ledger_.get(),
                                                                 .dispatch = dispatch_.get(),
                                                                 .checkpoints = checkpoints_.get(),
                                                                 .hub = hub_.get(),
                                                                 .runner = &runner_,
                                                                 .storage = &storage_,
                                                                 .clock = &clock_});
    blob_service_ =
        std::make_unique<rpc::BlobService>(blob_limits_, blobs_.get(), uploads_.get(), &clock_);
    model_service_ = std::make_unique<rpc::ModelService>(admission_.get(), &runner_, &clock_);
    optimizer_service_ = std::make_unique<rpc::OptimizerService>(
        watch_limits_, admission_.get(), store_.get(), hub_.get(), &runner_, &clock_,
        [this] { return storage_failure_; });
    v1::Capabilities capabilities;
    capabilities.set_max_chunk_bytes(blob_limits_.max_chunk_bytes);
    capabilities_service_ = std::make_unique<rpc::CapabilitiesService>(capabilities);
    rpc::GrpcServer::Interceptors interceptors;
    interceptors.push_back(ops::NewGrpcMeter(&clock_, &metrics_));
    interceptors.push_back(requests_.NewInterceptors());
    interceptors.push_back(replies_.NewInterceptors());
    auto server =
        rpc::GrpcServer::Start({.listen = listen, .max_chunk_bytes = blob_limits_.max_chunk_bytes},
                               {blob_service_.get(), model_service_.get(), optimizer_service_.get(),
                                capabilities_service_.get()},
                               std::move(interceptors));
    ASSERT_OK(server);
    server_ = *std::move(server);
    server_->SetServing(true);
    ticker_ = std::make_unique<ops::Ticker>(
        std::vector<ops::Ticker::Task>{{absl::Milliseconds(10), [this] {
                                          clock_.AdvanceMs(10);
                                          hub_->Tick();
                                        }}});
    pool_->Start();
  }

  // As SIGTERM does.
  void StopServer() {
    if (server_ == nullptr) return;
    admission_->Drain();
    pool_->Stop();
    hub_->Close();
    ticker_.reset();
    server_->Shutdown(absl::Seconds(5));
    server_.reset();
    pool_.reset();
  }

  // The next process on the same folder and port.
  void RestartServer() {
    const std::string address = server_->address();
    StopServer();
    optimizer_service_.reset();
    Restart();
    StartServer(address);
  }

  const std::string& address() const { return server_->address(); }

  ops::Metrics metrics_;
  rpc::BlobLimits blob_limits_;
  const rpc::OptimizerService::Limits watch_limits_{.watches = 8, .watches_per_peer = 4};
  rpc::UnsentRequests requests_{{.slots = {.count = 32, .per_peer = 24, .spared_idle_ms = 0}},
                                &clock_};
  rpc::UnreadReplies replies_{{.small = {.count = 64, .per_peer = 16, .spared_idle_ms = 100},
                               .large = {.count = 4, .per_peer = 2, .spared_idle_ms = 100},
                               .reflection = {.count = 4, .per_peer = 2, .spared_idle_ms = 100}},
                              &clock_};
  DiskBlobSink made_{blobs_.get()};
  FakeRunner runner_{blobs_.get(), &made_};
  worker::StorageGate storage_{{},
                               {.clock = &clock_,
                                .probe = [this] { return blobs_->Probe(); },
                                .on_change = [](const absl::Status&) {}}};
  std::string storage_failure_;  // To be set while nothing calls the server.
  store::HashTurns hash_turns_{1};
  std::unique_ptr<jobs::UploadStore> uploads_;
  std::unique_ptr<worker::WorkerPool> pool_;
  std::unique_ptr<rpc::BlobService> blob_service_;
  std::unique_ptr<rpc::ModelService> model_service_;
  std::unique_ptr<rpc::OptimizerService> optimizer_service_;
  std::unique_ptr<rpc::CapabilitiesService> capabilities_service_;
  std::unique_ptr<rpc::GrpcServer> server_;
  std::unique_ptr<ops::Ticker> ticker_;
};

}  // namespace quotient::testing
