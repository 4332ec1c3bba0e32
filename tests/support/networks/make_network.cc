// make_network NAME -o FILE.onnx [--paper | --batch-norm] [--batch NUMBER|SYMBOL]: writes a network
// of networks.h.

#include <fstream>
#include <iostream>
#include <string>

#include "absl/strings/str_join.h"
#include "tests/support/networks/networks.h"

namespace {

int Usage() {
  std::cerr << "usage: make_network NAME -o FILE.onnx [--paper | --batch-norm] "
               "[--batch NUMBER|SYMBOL]\n"
               "--paper: as the papers had it; --batch-norm: squeezenet and vgg19; --batch: not "
               "bert of the papers\n"
            << "networks: " << absl::StrJoin(quotient::networks::NetworkNames(), " ") << "\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string name, out;
  quotient::networks::NetworkOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--batch-norm") {
      options.batch_norm = true;
    } else if (argument == "--paper") {
      options.variant = quotient::networks::Variant::kPaper;
    } else if (argument == "-o" && has_value) {
      out = argv[++i];
    } else if (argument == "--batch" && has_value) {
      options.batch = argv[++i];
    } else if (name.empty() && argument[0] != '-') {
      name = argument;
    } else {
      return Usage();
    }
  }
  const auto model = quotient::networks::MakeNetwork(name, options);
  if (!model.has_value() || out.empty()) return Usage();
  std::ofstream file(out, std::ios::binary);
  if (!model->SerializeToOstream(&file) || !file.flush()) {
    std::cerr << "make_network: cannot write " << out << "\n";
    return 1;
  }
  return 0;
}
