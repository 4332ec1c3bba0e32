#include "core/kernels/onnxruntime/helper/run_records.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {
namespace {

using Json = nlohmann::json;

// The events of kernels are called by their nodes, with this behind it.
constexpr absl::string_view kKernelSuffix = "_kernel_time";
// These events end loading, in which constants are folded by kernels, too, and a run.
constexpr absl::string_view kLoaded = "session_initialization";
constexpr absl::string_view kRunEnd = "model_run";

struct Event {
  std::string name;
  std::string op;
  double us = 0;
};

// The kernel that a line tells of; a run's end and other events have no operator.
Event EventIn(absl::string_view line) {
  absl::ConsumeSuffix(&line, ",");
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return {};
  Event event{.name = json.value("name", "")};
  absl::string_view name = event.name;
  if (!absl::ConsumeSuffix(&name, kKernelSuffix)) return event;
  event.us = json.value("dur", 0.0);
  const auto arguments = json.find("args");
  if (arguments != json.end() && arguments->is_object()) {
    event.op = arguments->value("op_name", "");
  }
  event.name = std::string(name);
  return event;
}

// Puts the events of runs together.
class Runs {
 public:
  void Add(Event event) {
    if (!event.op.empty()) {
      run_.push_back(std::move(event));
    } else if (event.name == kLoaded) {
      run_.clear();
    } else if (event.name == kRunEnd) {
      EndRun();
    }
  }
  std::vector<KernelRecord> Take() && { return std::move(kernels_); }

 private:
  void EndRun() {
    if (kernels_.empty()) {
      for (const Event& event : run_) kernels_.push_back({event.name, event.op, {}});
    }
    if (IsLikeTheFirst()) {
      for (size_t i = 0; i < run_.size(); ++i) kernels_[i].us.push_back(run_[i].us);
    }
    run_.clear();
  }

  bool IsLikeTheFirst() const {
    if (run_.size() != kernels_.size()) return false;
    for (size_t i = 0; i < run_.size(); ++i) {
      if (run_[i].name != kernels_[i].name || run_[i].op != kernels_[i].op) return false;
    }
    return true;
  }

  std::vector<Event> run_;  // Of the run that is being read.
  std::vector<KernelRecord> kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecords>> RunRecords::Create(const std::string& parent) {
  std::string folder = absl::StrCat(parent, "/records-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return os::ErrnoError("make", folder);
  return std::unique_ptr<RunRecords>(new RunRecords(std::move(folder)));
}

RunRecords::~RunRecords() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

absl::StatusOr<std::vector<KernelRecord>> RunRecords::Read() const {
  std::error_code error;
  const std::filesystem::directory_iterator files(folder_, error);
  if (error || files == std::filesystem::directory_iterator()) {
    return absl::InternalError("ONNX Runtime's profiler wrote nothing");
  }
  std::ifstream file(files->path());
  Runs runs;
  for (std::string line; std::getline(file, line);) runs.Add(EventIn(line));
  return std::move(runs).Take();
}

}  // namespace quotient::kernels::onnxruntime
