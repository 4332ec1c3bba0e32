#include "server/jobs/thread_names.h"

#include <sys/prctl.h>

namespace quotient::jobs {

ThreadName::ThreadName(const std::string& name) {
  prctl(PR_GET_NAME, before_);
  prctl(PR_SET_NAME, name.c_str());
}

ThreadName::~ThreadName() { prctl(PR_SET_NAME, before_); }

}  // namespace quotient::jobs
