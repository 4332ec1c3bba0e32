#pragma once

// Notes in which thread a process crashes, so that the next one knows which job is to blame.

#include "server/store/disk/run_record.h"

namespace quotient::ops {

// From now on, fatal signals that this process causes itself, and exceptions that leave a thread,
// are noted in the record before they end the process as they would have without. Signals that
// others send are not noted: they are no evidence against whatever runs. To be called once, with a
// record that lives as long as the process.
void NoteCrashesIn(const store::RunRecord* record);

}  // namespace quotient::ops
