// What the checks of a solution cost: the data residual, certificate and verdict.
#include <algorithm>

#include "recon/pipeline/estimate_walk.hpp"
#include "recon/transform/gridded/gridded_cost.hpp"

namespace fhd {

void Walk::predict_samples(const TransformCost& transform) {
  const double values = samples_ * channels() * element_, segments = std::max(1, segments_);
  arrays().hold("predicted data", values);
  Work prediction = transform.forward(channels());
  if (predicts_by_gridding(how_.settings, transform_.kind)) {
    const GriddedCost best(transform_sizes(), prediction_accuracy);
    const double bytes = best.bytes(), scratch = best.scratch_bytes(together());
    arrays().hold("gridding of the data residual", bytes + scratch);
    prediction = best.forward(channels()) + (1 / segments) * (best.making() + touched(bytes + scratch));
  }
  const Work weighting = copied(segments_ > 0 ? 4 * values : 0);
  stage("data residual",
        out_.solves * (segments * (prediction + weighting) + touched(values) + copied(4 * values)));
}

void Walk::verify(bool solved) {
  if (how_.verifier == nullptr) return;
  const double values = samples_ * (solved ? channels() : coils()) * element_;
  if (solved) out_.host.hold("input of the certificate", values + 2 * voxels_ * element_);
  stage("certificate", copied(2 * values + 5 * voxels_ * element_), 0, true);
}

/// E of the image times the field map; without a field map, and where the data are explained, some passes.
void Walk::judge() {
  if (how_.verifier == nullptr) return;
  const double values = samples_ * channels() * element_, image = voxels_ * element_;
  Work work = copied(4 * values + image);
  if (segments_ > 0) {
    const GriddedCost gridded(transform_sizes(), verdict_transform(how_.settings, transform_).accuracy);
    if (transform_.kind != TransformKind::gridded && !predicts_by_gridding(how_.settings, transform_.kind)) {
      const double bytes = gridded.bytes(), scratch = gridded.scratch_bytes(together());
      arrays().hold("gridding of the verdict", bytes + scratch);
      work += gridded.making() + touched(bytes + scratch);
    }
    arrays().hold("samples of the verdict", values + image);
    if (gpu_) out_.host.hold("samples of the verdict", values + image);
    work += segments_ * (gridded.forward(channels()) + copied(4 * values)) + touched(values + image);
  }
  stage("verdict", work, 0, true);
}

}  // namespace fhd
