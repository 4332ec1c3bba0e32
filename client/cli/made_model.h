#pragma once

#include <string>

#include "client/cli/output.h"
#include "core/optimize/optimize.h"

namespace quotient::cli {

// A model that was made in this process.
class MadeModel final : public ModelSource {
 public:
  // Borrows it.
  explicit MadeModel(const optimize::OptimizedModel& files) : files_(files) {}

  absl::Status Model(Sink sink) override { return sink(files_.model); }
  absl::Status ExternalData(Sink sink) override { return sink(files_.external_data); }
  std::string external_location() const override { return files_.external_location; }

 private:
  const optimize::OptimizedModel& files_;
};

}  // namespace quotient::cli
