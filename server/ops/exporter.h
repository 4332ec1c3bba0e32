#pragma once

// Serves metrics over HTTP for Prometheus: GET /metrics.

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::ops {

class Exporter {
 public:
  // Serves on "HOST:PORT"; port 0 means any free one. Returns UNAVAILABLE if the address cannot be
  // bound. There is no encryption or login, so the address should be reachable for the scraper
  // only.
  static absl::StatusOr<std::unique_ptr<Exporter>> Start(
      const std::string& listen,
      const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables);

  // The requested host and the port in use.
  const std::string& address() const { return address_; }

 private:
  Exporter() = default;

  // Owned here, because the exposer keeps only weak pointers.
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::string address_;
};

}  // namespace quotient::ops
