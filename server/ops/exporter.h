#pragma once

// Tells the world outside over HTTP how the server is:
//
//   GET /metrics   for Prometheus
//   GET /livez     200 while the process answers at all
//   GET /readyz    200 if the server is ready, else 503, with a line for each obstacle
//
// and what others make for people (pages.h).

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/ops/pages.h"
#include "server/ops/readiness.h"

namespace quotient::ops {

// Thread-safe.
class Exporter {
 public:
  // What the pages show.
  struct Sources {
    std::vector<std::shared_ptr<prometheus::Collectable>> collectables;
    const Readiness* readiness;  // Borrowed.
    Pages* pages = nullptr;      // Borrowed; null if there are none. Serves all other paths.
  };

  // Serves on "HOST:PORT"; port 0 means any free one. Returns UNAVAILABLE if the address cannot be
  // bound. There is no encryption or login, so the address should be reachable for the scraper
  // only.
  static absl::StatusOr<std::unique_ptr<Exporter>> Start(const std::string& listen,
                                                         Sources sources);
  virtual ~Exporter() = default;

  // The requested host and the port in use.
  virtual const std::string& address() const = 0;
};

}  // namespace quotient::ops
