#pragma once
// lambda, the weight of the regularizer: chosen once for a scan.
#include "recon/pipeline/model.hpp"
#include "recon/pipeline/prepare.hpp"

namespace fhd {

/// As LeastSquares::lambda says, into the weight of the term and the report. `samples` are all of
/// `data`, or those of its strongest coil, and `fhd` is their E^H d: a search solves for them.
template <class T>
void choose_lambda(Model<T>& model, const Measurements<T>& data, const Array<Complex<T>>& samples,
                   const Array<Complex<T>>& fhd, const Context& context);

/// |samples| of all processes.
template <class T>
double norm_of_all(const Array<Complex<T>>& samples, const ProcessGroup& processes);

}  // namespace fhd
