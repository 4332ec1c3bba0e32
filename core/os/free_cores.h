#pragma once

namespace quotient::os {

// Whether that many threads find a core each if they compute at the same time: most of the time for
// about a tenth of a second, in which the call lets them. Other threads of this process that
// compute count as other work.
bool HasFreeCores(int threads);

}  // namespace quotient::os
