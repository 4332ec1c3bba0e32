#pragma once

// A process that is asked to end while a kernel runs has not crashed.

namespace quotient::kernels::cuda {

// While it lives, the file with this descriptor, in which a process writes down what it is running,
// is emptied if the process is ended by SIGTERM, SIGINT or SIGHUP, unless it was last written five
// seconds ago or more: then the process hangs, and was asked to end for that. Only for signals that
// nothing else in the process handles, and for at most 16 files at a time; others are left alone.
// Thread-safe.
class OrderlyEnd {
 public:
  explicit OrderlyEnd(int file);
  ~OrderlyEnd();
  OrderlyEnd(const OrderlyEnd&) = delete;
  OrderlyEnd& operator=(const OrderlyEnd&) = delete;

 private:
  const int file_;
};

}  // namespace quotient::kernels::cuda
