#include "io/result/field_map_file.hpp"

#include "io/hdf5/hdf5.hpp"
#include "io/hdf5/hdf5_geometry.hpp"
#include "io/hdf5/hdf5_facts.hpp"

namespace fhd::io {

void write_field_map(FileSet& files, const std::string& path, const std::vector<const Array<float>*>& slices,
                     const std::vector<Geometry>& geometries, const std::string& made_by) {
  files.add(path);
  auto file = hdf5::File::create(files.back().temporary(), path);
  const auto& shape = slices.front()->shape();
  hdf5::Extents extents{shape[0], shape[1], shape[2]};
  if (slices.size() == 1) {
    file.write("/field_map", slices.front()->data(), extents);
  } else {
    extents.insert(extents.begin(), static_cast<std::int64_t>(slices.size()));
    file.create<float>("/field_map", extents);
    for (std::size_t i = 0; i < slices.size(); ++i)
      file.write_block("/field_map", *slices[i], {static_cast<std::int64_t>(i)});
  }
  file.write_attribute("/field_map", "unit", "rad/s");
  write_geometry(file, "/", geometries);
  if (!made_by.empty()) file.write_attribute("/", made_by_attribute, made_by);
  file.close();
}

}  // namespace fhd::io
