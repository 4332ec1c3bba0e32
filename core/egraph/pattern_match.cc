// Finds the matches of one rule from scratch.

#include "core/egraph/pattern_machine.h"

namespace quotient::egraph {
namespace {

// Passes matches on to a sink.
class Reporter {
 public:
  explicit Reporter(MatchSink& sink) : sink_(sink) {}
  void Watch(const PatternMachine<Reporter>* machine) { machine_ = machine; }

  bool Reached(size_t /*at*/) { return true; }
  bool Tries() { return true; }
  bool Keeps(size_t /*at*/) { return true; }
  bool GoesOn(size_t /*at*/, bool passes) { return passes; }
  bool Found() { return sink_.Add(machine_->ToMatch()); }

 private:
  MatchSink& sink_;
  const PatternMachine<Reporter>* machine_ = nullptr;
};

}  // namespace

void FindMatches(const Program& program, const EGraph& graph, MatchSink& sink) {
  Reporter reporter(sink);
  PatternMachine machine(program, program.search, graph, reporter);
  reporter.Watch(&machine);
  machine.Run();
}

}  // namespace quotient::egraph
