#pragma once

// The parsed command line.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/optimize/options.h"
#include "core/os/environment.h"

namespace quotient::cli {

struct Settings {
  std::vector<std::string> positional;
  bool help = false;

  os::Environment environment;  // This process's variables, some of them replaced by options.

  std::string server;  // If empty, $QUOTIENT_SERVER or the default address is used.
  bool local = false;
  double patience_seconds = 60;

  std::string output;
  std::string report;
  std::string html;
  std::string journal;
  std::string depfile;
  std::string depfile_target;  // If empty, the output.
  bool restat = false;         // Files that have the same bytes already stay as they are.
  bool json = false;

  optimize::Options options;
  std::string device_snapshot;  // Path of a file; if empty, the options name the device.
  std::string snapshot_bytes;   // Content of that file, once it is read.
  std::string check;            // The command of a user that accepts models.
  std::string timings;          // Path of a file; if empty, the timings that --local keeps.
  bool no_cache = false;
  bool no_precedence = false;    // What is timed here waits for cores like other programs.
  bool keeps_statistics = true;  // Whether jobs of this process add to the statistics of rules.

  bool stats = false;
  std::string stats_from;  // Path of a file; if empty, the statistics that --local keeps.

  // How a server treats the job; 0 seconds are no deadline.
  int priority = 0;
  double queue_seconds = 0;
  double run_seconds = 0;
  bool only_cached = false;  // Take a result that is there already, or none.

  // What a build demands.
  std::string lock;  // Path of the lock file; if empty, there is none.
  bool update_lock = false;
  std::string result_cache;     // Path of a folder; if empty, it is in the user's cache folder.
  std::string locked_engine;    // The version of the only engine that may run; if empty, any may.
  double required_percent = 0;  // What the result has to gain at least; 0: it need not.
  double max_seconds = 0;       // What the command may take; 0: as long as it likes.

  // How a result is verified; if unset, as its job says.
  std::optional<uint64_t> verify_seed;
  std::optional<int> verify_sets;

  // Which jobs are listed.
  std::string state;
  std::string client;
  std::string model_file;
  double since_seconds = 0;  // Submitted within so long; 0: at any time.
  int64_t limit = 20;
};

}  // namespace quotient::cli
