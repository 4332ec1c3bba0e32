#pragma once

// What a command line says, once parsed.

#include <cstdint>
#include <string>
#include <vector>

#include "core/optimize/options.h"

namespace quotient::cli {

struct Settings {
  std::vector<std::string> positional;
  bool help = false;

  std::string server;  // empty: $QUOTIENT_SERVER or the default
  bool local = false;
  double patience_seconds = 60;

  std::string output;
  std::string report;
  std::string html;
  bool json = false;

  optimize::Options options;
  std::string device_snapshot;  // a file; empty: the device of the options
  std::string snapshot_bytes;   // of that file, once it is read
  std::string timings;          // a file; empty: where --local keeps them
  bool no_cache = false;

  std::string state;
  int64_t limit = 20;
};

}  // namespace quotient::cli
