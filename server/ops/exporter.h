#pragma once

// GET /metrics.

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::ops {

class Exporter {
 public:
  // Serves on "HOST:PORT", port 0 for any free one. UNAVAILABLE if it cannot be bound. No
  // encryption or login: bind it where only the scraper can reach it.
  static absl::StatusOr<std::unique_ptr<Exporter>> Start(
      const std::string& listen,
      const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables);

  // The host asked for and the port chosen.
  const std::string& address() const { return address_; }

 private:
  Exporter() = default;

  // The exposer itself keeps weak pointers only.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::string address_;
};

}  // namespace quotient::ops
