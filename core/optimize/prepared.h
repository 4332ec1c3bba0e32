#pragma once

// Prepared: a model that was read from bytes and is ready to be checked, predicted and run.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"
#include "core/optimize/measure_shapes.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/verify/cut.h"

namespace quotient::optimize {

struct Prepared {
  onnx::Model model;   // As it was read. The writer starts from its graph.
  model::Graph graph;  // Types are inferred and constants folded. Symbols are kept.
  // `graph` with every symbol bound for measuring, and with the same ids. Types that inference does
  // not know are as declared.
  model::Graph measured;
  verify::CutGraph cut;  // `measured`, folded once more and cut. It is evaluated and run.
  MeasureShapes shapes;
  std::vector<std::string> stale_declarations;  // Sentences on types that the file has wrong.
};

// What names of dims mean when types are inferred.
enum class InputNames {
  kEqual,      // Dims of inputs with the same name are equal, as the standard says.
  kForgotten,  // Nothing follows from names: each dim that is not a number may differ from all
               // others.
};

struct PrepareSettings {
  InputNames names = InputNames::kEqual;
  double most_operations = kMostOperations;  // As ChooseMeasureShapes has it.
};

// Reads the model, infers its types, binds options.shapes, folds constants, binds the other symbols
// for measuring and cuts. Fails as Optimize does. Further errors are for models that come back as
// they are: MODEL_SHAPE if types contradict each other, and SHAPE_MISSING if no sizes are found to
// measure with.
absl::StatusOr<Prepared> Prepare(const ModelFiles& files, const Options& options, int threads,
                                 const StopCondition& stop, const PrepareSettings& settings = {});

// A model that cannot be prepared, and what is known of it.
struct Unprepared {
  absl::Status why;
  onnx::Model model;                            // Empty if it could not be read.
  std::vector<std::string> stale_declarations;  // Empty if its types could not be inferred.
};

// Whether a model with this error is harmless. Such a model is not refused, because other programs
// may well be able to run it.
bool IsHarmless(const absl::Status& status);

// Like Prepare, but also tells what is known of a model that cannot be prepared. If memory runs
// out, that is MODEL_UNSUPPORTED.
std::variant<Prepared, Unprepared> PrepareOrDescribe(const ModelFiles& files,
                                                     const Options& options, int threads,
                                                     const StopCondition& stop,
                                                     const PrepareSettings& settings = {});

// A model's bytes. `owner` keeps them alive, or is null if the caller does.
struct ModelBytes {
  absl::string_view model;
  const std::map<std::string, absl::string_view>& external_data;
  std::shared_ptr<const void> owner;
};

// How a model is read that is compared with another one.
struct ResultOptions {
  bool freeze_initializers = false;  // As in Options.
  // Inputs with defaults that nobody is going to give a value: they become constants.
  std::vector<std::string> unused_inputs;
  // What inputs are going to get, by their names: these types take the place of the declared ones,
  // which must be at least as general.
  std::map<std::string, model::TensorType> input_types;
  std::vector<std::string> kept_values;  // As in Options.
};

// Prepares a model that is compared with another one, with the shapes that this one is measured
// with: a result of Quotient, or any other model.
absl::StatusOr<Prepared> PrepareResult(const ModelBytes& result, const MeasureShapes& shapes,
                                       int threads, const StopCondition& stop,
                                       const ResultOptions& options = {});

// Reads such a model.
absl::StatusOr<onnx::Model> ReadResult(const ModelBytes& result, const ResultOptions& options = {});

// Returns the graph as it was read, for checking at other dims than those of measuring. Nothing in
// it was inferred or folded. Its inputs have the dims that `shapes` (Options::shapes) bind for
// good.
model::Graph AsRead(const Prepared& prepared,
                    const std::map<std::string, std::vector<int64_t>>& shapes);

// Returns the number of nodes of the main graph.
int64_t NodeCount(const onnx::Model& model);

}  // namespace quotient::optimize
