#pragma once

// The factors of a short-time Fourier transform (ONNX operator specification, STFT-17).

#include <complex>
#include <cstdint>
#include <vector>

namespace quotient::ops {

// exp(-2 pi i k / length) for k in [0, length). Frequency f of a discrete Fourier transform of that
// length is the sum of all samples n, each times factor f n modulo length.
std::vector<std::complex<double>> FourierFactors(int64_t length);

}  // namespace quotient::ops
