#pragma once

// Divides what a result saves among the regions that were rewritten, and names the rules that
// rewrote each of them.

#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/report/describe.h"
#include "core/report/report.h"

namespace quotient::report {

// Which values of two graphs are equal: from a value's name to the name that all values equal to it
// share. A name that is missing is shared by values of that name alone.
using SharedNames = absl::flat_hash_map<std::string, std::string>;

// `journal` names the values of its entries by their shared names. Takes linear time besides
// sorting. Deterministic.
Gains GainsOf(const CostedGraph& before, const CostedGraph& after, const SharedNames& names,
              std::span<const JournalEntry> journal);

}  // namespace quotient::report
