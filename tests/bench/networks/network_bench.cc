// What strategies of search make of networks, and how long it takes them; --help has the options.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cpp/model_files.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/optimize/devices.h"
#include "core/os/atomic_file.h"
#include "core/os/environment.h"
#include "core/os/files.h"
#include "core/search/strategy.h"
#include "core/timing/store.h"
#include "core/verify/reference.h"
#include "tests/bench/networks/network_picture.h"
#include "tests/bench/networks/network_run.h"
#include "tests/bench/networks/network_table.h"
#include "tests/support/arguments.h"
#include "tests/support/networks/float_type.h"
#include "tests/support/networks/networks.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

constexpr char kUsage[] =
    R"(usage: network_bench [OPTION]... [FILE.onnx]...

Optimizes networks, for each device by each strategy with each seed. Prints a tab-separated line for
each run, then a table for each device. Without --networks and files: the nine of the papers.

  --networks A,B    of bert, nasrnn, resnet50, resnext50, nasnet, inception_v3, mobilenet_v2,
                    mobileone (only --faithful), squeezenet, vgg19
  --faithful        the networks as published, instead of as the papers had them
  --type TYPE       of all floats of the networks: float32, float16 or bfloat16 (float32); names of
                    networks end with it if it is not float32
  --devices A,B     as `quotient optimize` takes them (cpu,model:h200)
  --strategies A,B  how the e-graph is grown (all)
  --seeds N         0 .. N-1 (5)
  --budget TIME     of each run's search, as `quotient optimize --search-budget` takes it: two fifths
                    are for the strategy (60s)
  --max-nodes N     that an e-graph has at most (50000)
  --without A,B     rules that are not used
  --threads N       of search, kernels and checks (1)
  --timings FILE    what is known of kernels that are measured, and what comes to be known
  --compiled DIR    a folder for what is compiled for GPUs, so that other runs need not do it again
  --csv FILE        the lines of the runs
  --curves FILE     best cost over time, as CSV: seconds since the strategy began, and costs
  --svg FILE        a picture of best cost over time
)";
constexpr Program kProgram = {"network_bench", kUsage};

struct Options {
  std::vector<std::string> networks;
  std::vector<std::string> files;
  std::vector<std::string> devices = {"cpu", "model:h200"};
  std::vector<std::string> strategies = search::StrategyNames();
  std::vector<std::string> without;
  std::optional<int64_t> seeds;
  std::optional<int64_t> max_nodes;
  std::optional<int64_t> threads;
  double budget_seconds = 60;
  std::string timings;
  std::string compiled;
  std::string csv;
  std::string curves;
  std::string svg;
  bool faithful = false;
  std::string float_type = "float32";
};

networks::Variant VariantOf(const Options& options) {
  return options.faithful ? networks::Variant::kFaithful : networks::Variant::kPaper;
}

optimize::Options OptionsOfRun(const Options& options, const std::string& device,
                               const std::string& strategy, int64_t seed) {
  optimize::Options run;
  run.device = device;
  run.strategy = strategy;
  run.seed = static_cast<uint64_t>(seed);
  // What comes before and after the search takes nothing from it.
  constexpr double kSecondsForTheRest = 60;
  run.search_budget_seconds = options.budget_seconds;
  run.budget_seconds = options.budget_seconds + kSecondsForTheRest;
  run.max_nodes = options.max_nodes.value_or(run.max_nodes);
  run.threads = static_cast<int>(std::min<int64_t>(options.threads.value_or(1), 1'000));
  run.disabled_rules = options.without;
  run.verify_inputs = 1;  // this is about costs: one look at whether they are those of the model
  return run;
}

std::string NameOf(const std::string& file) {
  return std::string(absl::StripSuffix(os::BaseName(file), ".onnx"));
}

absl::Status CheckNames(const Options& options) {
  if (!networks::FloatTypeOf(options.float_type)) {
    return WrongArgument(
        "--type", absl::StrCat("wants float32, float16 or bfloat16, not ", options.float_type));
  }
  const std::vector<std::string> known = networks::NetworkNames(VariantOf(options));
  std::vector<std::string> names;
  for (const std::string& name : options.networks) {
    if (std::ranges::find(known, name) == known.end()) {
      return WrongArgument(
          "--networks", absl::StrCat("wants some of ", absl::StrJoin(known, ", "), ", not ", name));
    }
    names.push_back(name);
  }
  for (const std::string& file : options.files) {
    const std::string name = NameOf(file);
    if (std::ranges::find(names, name) != names.end()) {
      return WrongArgument(file, absl::StrCat("there is another network ", name));
    }
    names.push_back(name);
  }
  return absl::OkStatus();
}

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag budget = {"--budget", [&options](absl::string_view value) {
                         return optimize::ParseDuration(value, &options.budget_seconds);
                       }};
  const Flag flags[] = {
      ListFlag("--networks", options.networks),
      Switch("--faithful", options.faithful),
      TextFlag("--type", options.float_type),
      ListFlag("--devices", options.devices),
      ListFlag("--strategies", options.strategies),
      ListFlag("--without", options.without),
      NumberFlag("--seeds", 1, options.seeds),
      budget,
      NumberFlag("--max-nodes", 1, options.max_nodes),
      NumberFlag("--threads", 1, options.threads),
      TextFlag("--timings", options.timings),
      TextFlag("--compiled", options.compiled),
      TextFlag("--csv", options.csv),
      TextFlag("--curves", options.curves),
      TextFlag("--svg", options.svg),
  };
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.files));
  if (options.networks.empty() && options.files.empty()) {
    options.networks = networks::NetworkNames(networks::Variant::kPaper);
  }
  QUOTIENT_RETURN_IF_ERROR(CheckNames(options));
  for (const std::string& device : options.devices) {
    for (const std::string& strategy : options.strategies) {
      QUOTIENT_RETURN_IF_ERROR(OptionsOfRun(options, device, strategy, 0).Validate());
    }
  }
  return options;
}

// Lines of runs, on their way out as soon as they are known.
class Lines {
 public:
  static absl::StatusOr<Lines> Begin(const std::string& csv) {
    Lines lines(csv);
    if (!csv.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(lines.file_, os::OpenFile(csv, O_WRONLY | O_CREAT | O_TRUNC));
    }
    QUOTIENT_RETURN_IF_ERROR(lines.Write(RunColumns()));
    return lines;
  }
  absl::Status Write(std::span<const std::string> cells) {
    std::printf("%s\n", absl::StrJoin(cells, "\t").c_str());
    std::fflush(stdout);
    if (!file_.valid()) return absl::OkStatus();
    return os::WriteFully(file_, CsvLine(cells) + "\n", name_);
  }

 private:
  explicit Lines(std::string name) : name_(std::move(name)) {}

  std::string name_;
  os::Fd file_;
};

struct Network {
  std::string name;
  bool of_papers;
  optimize::ModelFiles files;
};

class Bench {
 public:
  Bench(const Options& options, optimize::Devices* devices, Lines* lines)
      : options_(options), devices_(*devices), lines_(*lines) {}

  // False if a network could not be read, a run failed, a kernel was wrong, or a GPU measured
  // nothing or left a contraction to the host: the others are run all the same.
  absl::StatusOr<bool> RunAll() {
    for (const std::string& name : options_.networks) {
      const networks::NetworkOptions made = {.variant = VariantOf(options_),
                                             .float_type = options_.float_type};
      const std::string bytes = networks::MakeNetwork(name, made)->SerializeAsString();
      const bool is_wide = options_.float_type == "float32";
      const std::string full_name = is_wide ? name : absl::StrCat(name, "-", options_.float_type);
      QUOTIENT_RETURN_IF_ERROR(RunByAll(
          {full_name, is_wide && !options_.faithful, {.name = full_name, .model = bytes}}));
    }
    for (const std::string& path : options_.files) {
      const absl::StatusOr<client::LocalModel> file = client::LocalModel::Open(path);
      if (file.ok()) {
        QUOTIENT_RETURN_IF_ERROR(RunByAll({NameOf(path), false, file->View()}));
      } else {
        all_right_ = Complain(kProgram, absl::StrCat(path, ": ", file.status().message()));
      }
    }
    return all_right_;
  }
  std::span<const NetworkRun> runs() const { return runs_; }

 private:
  // Strategies take turns: what changes with time, changes for all of them.
  absl::Status RunByAll(const Network& network) {
    for (int64_t seed = 0; seed < options_.seeds.value_or(5); ++seed) {
      for (const std::string& device : options_.devices) {
        for (const std::string& strategy : options_.strategies) {
          QUOTIENT_RETURN_IF_ERROR(RunOne(network, OptionsOfRun(options_, device, strategy, seed)));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status RunOne(const Network& network, const optimize::Options& options) {
    const std::string place = absl::StrJoin(
        {network.name, options.device, options.strategy, absl::StrCat(options.seed)}, " ");
    absl::StatusOr<NetworkRun> run = RunNetwork(network.name, network.files, options, devices_);
    if (!run.ok()) {
      all_right_ = Complain(kProgram, absl::StrCat(place, ": ", run.status().message()));
      return absl::OkStatus();
    }
    run->of_papers = network.of_papers;
    for (const std::string& note : run->notes) {
      Complain(kProgram, absl::StrCat(place, ": note: ", note));
      if (absl::StrContains(note, verify::Reference::kWrongKernel)) all_right_ = false;
    }
    if (absl::StartsWith(options.device, "cuda") && !run->measured_before_us) {
      all_right_ = Complain(kProgram, absl::StrCat(place, ": nothing was measured on the GPU"));
    }
    for (const auto* ways : {&run->ways_before, &run->ways_after}) {
      if (!ways->has_value()) continue;
      Complain(kProgram, absl::StrCat(place, ": ways: ", (*ways)->Text()));
      if (!(*ways)->contractions_on_host.empty()) {
        all_right_ = Complain(kProgram, absl::StrCat(place, ": a contraction runs on the host"));
      }
    }
    runs_.push_back(*std::move(run));
    return lines_.Write(RunCells(runs_.back()));
  }

  const Options& options_;
  optimize::Devices& devices_;
  Lines& lines_;
  std::vector<NetworkRun> runs_;
  bool all_right_ = true;
};

absl::StatusOr<std::unique_ptr<timing::TimingStore>> OpenTimings(const Options& options) {
  if (options.timings.empty()) return timing::NewMemoryStore();
  return timing::OpenFileStore(options.timings);
}

// A device that is not there is told of once, and not for each network.
absl::Status OpenDevices(const Options& options, optimize::Devices& devices) {
  for (const std::string& device : options.devices) {
    const int threads = OptionsOfRun(options, device, "", 0).ThreadsToUse();
    QUOTIENT_RETURN_IF_ERROR(Annotate(devices.Get(device, threads).status(), device));
  }
  return absl::OkStatus();
}

// A file that is written when all runs have ended, opened before them, so that an hour's work is
// not for nothing. Null without a path.
absl::StatusOr<std::unique_ptr<os::AtomicFile>> OpenLate(const std::string& path) {
  if (path.empty()) return nullptr;
  return os::AtomicFile::Create(path);
}

absl::Status WriteLate(os::AtomicFile* file, const std::string& text) {
  if (file == nullptr) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(file->Append(text));
  return file->Commit();
}

absl::StatusOr<bool> Run(const Options& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<timing::TimingStore> timings,
                            OpenTimings(options));
  timing::Lane lane;
  optimize::Devices devices({.store = timings.get(),
                             .lane = &lane,
                             .cache_directory = options.compiled,
                             .environment = os::ReadEnvironment(environ)});
  QUOTIENT_RETURN_IF_ERROR(OpenDevices(options, devices));
  QUOTIENT_ASSIGN_OR_RETURN(const auto curves, OpenLate(options.curves));
  QUOTIENT_ASSIGN_OR_RETURN(const auto picture, OpenLate(options.svg));
  QUOTIENT_ASSIGN_OR_RETURN(Lines lines, Lines::Begin(options.csv));
  Bench bench(options, &devices, &lines);
  QUOTIENT_ASSIGN_OR_RETURN(const bool all_right, bench.RunAll());
  std::fputs(Summary(bench.runs()).c_str(), stdout);
  QUOTIENT_RETURN_IF_ERROR(WriteLate(curves.get(), CurvesOf(bench.runs())));
  QUOTIENT_RETURN_IF_ERROR(WriteLate(picture.get(), DrawRuns(bench.runs())));
  return all_right;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
