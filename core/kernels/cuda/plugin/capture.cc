#include "core/kernels/cuda/plugin/capture.h"

#include <cuda_runtime_api.h>

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/kernels/cuda/plugin/cuda_status.h"
#include "core/kernels/cuda/plugin/launcher.h"
#include "core/kernels/cuda/plugin/no_throw.h"

namespace quotient::kernels::cuda {

namespace {

class Event {
 public:
  static absl::StatusOr<Event> Create(unsigned flags) {
    cudaEvent_t event = nullptr;
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaEventCreateWithFlags(&event, flags));
    return Event(event);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  cudaEvent_t get() const { return event_; }

 private:
  explicit Event(cudaEvent_t event) : event_(event) {}
  cudaEvent_t event_;
};

// The events that a graph records before its first and after its last step. They are nodes of the
// graph, because outside it they would also time how long the host takes to launch it.
struct Marks {
  static absl::StatusOr<Marks> Create() {
    QUOTIENT_ASSIGN_OR_RETURN(Event start, Event::Create(cudaEventDefault));
    QUOTIENT_ASSIGN_OR_RETURN(Event stop, Event::Create(cudaEventDefault));
    return Marks{std::move(start), std::move(stop)};
  }
  static absl::Status Set(const Event& mark, cudaStream_t stream) {
    QUOTIENT_CUDA_RETURN_IF_ERROR(
        cudaEventRecordWithFlags(mark.get(), stream, cudaEventRecordExternal));
    return absl::OkStatus();
  }
  Event start;
  Event stop;
};

class GraphReplay : public Replay {
 public:
  GraphReplay(const Device& device, cudaGraphExec_t graph, std::shared_ptr<Stream> stream,
              Marks marks)
      : device_(device), graph_(graph), stream_(std::move(stream)), marks_(std::move(marks)) {}
  ~GraphReplay() override {
    // An error changes nothing, because it cannot be reported.
    if (device_.Select().ok()) cudaGraphExecDestroy(graph_);
  }

  absl::StatusOr<Reading> Run() override {
    return device_.Watch(NoThrow([this] { return Measure(); }));
  }

 private:
  absl::StatusOr<Reading> Measure() {
    QUOTIENT_RETURN_IF_ERROR(device_.Select());
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(graph_, stream_->get()));
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_->get()));
    float ms = 0;
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&ms, marks_.start.get(), marks_.stop.get()));
    return Reading{.us = 1000.0 * ms};
  }

  const Device& device_;
  const cudaGraphExec_t graph_;
  const std::shared_ptr<Stream> stream_;
  const Marks marks_;
};

absl::StatusOr<std::unique_ptr<Replay>> Instantiate(const Device& device, cudaGraph_t graph,
                                                    std::shared_ptr<Stream> stream, Marks marks) {
  cudaGraphExec_t executable = nullptr;
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaGraphInstantiate(&executable, graph, 0));
  return std::make_unique<GraphReplay>(device, executable, std::move(stream), std::move(marks));
}

// Adds steps to streams that are being captured, and the events that order them.
class Recorder {
 public:
  Recorder(std::span<const Step> steps, cudaStream_t origin,
           const std::vector<std::unique_ptr<Stream>>& streams)
      : steps_(steps), origin_(origin), streams_(streams) {}

  absl::Status Record() {
    const absl::Status enqueued = EnqueueAll();
    // Also after a failure, because a stream that has not joined would stay in the capture.
    const absl::Status joined = JoinLanes();
    return enqueued.ok() ? joined : enqueued;
  }

 private:
  absl::Status EnqueueAll() {
    QUOTIENT_ASSIGN_OR_RETURN(const cudaEvent_t begin, RecordEvent(origin_));
    for (size_t i = 0; i < steps_.size(); ++i) {
      QUOTIENT_RETURN_IF_ERROR(Enqueue(static_cast<int>(i), begin));
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(int i, cudaEvent_t begin) {
    const Step& step = steps_[static_cast<size_t>(i)];
    const auto [lane, is_new] = lanes_.try_emplace(step.lane, nullptr);
    if (is_new) lane->second = streams_[lanes_.size()]->get();
    const cudaStream_t stream = lane->second;
    // A stream takes part in the capture from its first wait for a stream that does.
    if (is_new) QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream, begin, 0));
    for (const int before : step.after) {
      if (before < 0 || before >= i) {
        return absl::InvalidArgumentError(
            absl::StrCat("step ", i, " cannot come after step ", before));
      }
      if (steps_[static_cast<size_t>(before)].lane == step.lane) continue;
      QUOTIENT_CUDA_RETURN_IF_ERROR(
          cudaStreamWaitEvent(stream, done_.at(static_cast<size_t>(before)), 0));
    }
    QUOTIENT_RETURN_IF_ERROR(
        static_cast<const StreamLauncher*>(step.launcher)->Enqueue(step, stream));
    QUOTIENT_ASSIGN_OR_RETURN(const cudaEvent_t done, RecordEvent(stream));
    done_.push_back(done);
    return absl::OkStatus();
  }

  absl::Status JoinLanes() {
    absl::Status status;
    for (const auto& [lane, stream] : lanes_) status.Update(Join(stream));
    return status;
  }

  absl::Status Join(cudaStream_t stream) {
    QUOTIENT_ASSIGN_OR_RETURN(const cudaEvent_t done, RecordEvent(stream));
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(origin_, done, 0));
    return absl::OkStatus();
  }

  absl::StatusOr<cudaEvent_t> RecordEvent(cudaStream_t stream) {
    QUOTIENT_ASSIGN_OR_RETURN(Event event, Event::Create(cudaEventDisableTiming));
    QUOTIENT_CUDA_RETURN_IF_ERROR(cudaEventRecord(event.get(), stream));
    events_.push_back(std::move(event));
    return events_.back().get();
  }

  const std::span<const Step> steps_;
  const cudaStream_t origin_;
  const std::vector<std::unique_ptr<Stream>>& streams_;
  std::map<int, cudaStream_t> lanes_;
  std::vector<cudaEvent_t> done_;  // One per step.
  std::vector<Event> events_;
};

}  // namespace

absl::Status Capturer::Reserve(size_t streams) {
  while (streams_.size() < streams) {
    QUOTIENT_ASSIGN_OR_RETURN(auto stream, Stream::Create());
    streams_.push_back(std::move(stream));
  }
  return absl::OkStatus();
}

absl::Status Capturer::Record(std::span<const Step> steps) {
  Recorder recorder(steps, streams_.front()->get(), streams_);
  return NoThrow([&recorder] { return recorder.Record(); });
}

absl::StatusOr<std::unique_ptr<Replay>> Capturer::Capture(std::span<const Step> steps) {
  absl::MutexLock lock(&mutex_);
  std::map<int, int> lanes;
  for (const Step& step : steps) ++lanes[step.lane];
  QUOTIENT_RETURN_IF_ERROR(Reserve(1 + lanes.size()));
  if (replay_stream_ == nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(replay_stream_, Stream::Create());
  }
  const cudaStream_t origin = streams_.front()->get();
  // Relaxed, because libraries load kernels when they are first launched, and other threads
  // allocate.
  QUOTIENT_ASSIGN_OR_RETURN(Marks marks, Marks::Create());
  QUOTIENT_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed));
  absl::Status recorded = Marks::Set(marks.start, origin);
  if (recorded.ok()) recorded = Record(steps);
  if (recorded.ok()) recorded = Marks::Set(marks.stop, origin);
  // Also after a failure, because otherwise the streams would stay in the capture.
  cudaGraph_t graph = nullptr;
  // Its status is read even then, because otherwise the next call would report it.
  const absl::Status ended =
      CudaStatus(cudaStreamEndCapture(origin, &graph), "cudaStreamEndCapture");
  recorded.Update(ended);
  absl::StatusOr<std::unique_ptr<Replay>> replay =
      recorded.ok() ? Instantiate(device_, graph, replay_stream_, std::move(marks))
                    : absl::StatusOr<std::unique_ptr<Replay>>(recorded);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return replay;
}

}  // namespace quotient::kernels::cuda
