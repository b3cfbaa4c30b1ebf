// fhd.recon: a run (app/run/scan_run.hpp) on arrays or a file, with its result in memory.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <omp.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "app/options/nearest_word.hpp"
#include "app/options/table.hpp"
#include "app/python/arrays.hpp"
#include "app/python/scan_handle.hpp"
#include "app/run/scan_run.hpp"
#include "app/terminal/processors.hpp"
#include "io/files/atomic_file.hpp"
#include "io/hdf5/hdf5_facts.hpp"
#include "io/page/report_page.hpp"
#include "io/result/report_json.hpp"
#include "io/result/results.hpp"
#include "recon/array/interruption.hpp"

namespace fhd::python {
namespace {

/// Runs work on a thread of its own, while this thread tells Python how far it is, and listens for Ctrl-C.
class Watched {
 public:
  explicit Watched(nb::object listener) : listener_(std::move(listener)) {}

  /// Returns what the work calls; it throws Interrupted.
  ProgressCallback callback() {
    return [this](const Progress& progress) {
      if (is_stopped_) throw Interrupted();
      const std::lock_guard lock(mutex_);
      latest_ = progress;
    };
  }
  bool is_stopped() const { return is_stopped_; }
  /// Calls work() and waits for it. Throws what it throws, or what Python's signal handlers raise. The lock of the
  /// interpreter is held before and after.
  template <class Work>
  void run(const Work& work) {
    begin_work();
    auto done = std::async(std::launch::async, [&] {
      omp_set_num_threads(app::default_threads());
      const Interruptible here([this] { return is_stopped_.load(); });
      work();
    });
    try {
      while (!looked(done)) {
      }
    } catch (...) {
      const nb::gil_scoped_release released;
      is_stopped_ = true;
      done.wait();
      throw;
    }
    done.get();
  }

 private:
  /// Waits a moment. Returns whether the work has ended.
  bool looked(const std::future<void>& done) {
    constexpr auto pause = std::chrono::milliseconds(50);
    bool has_ended = false;
    std::optional<Progress> news;
    {
      const nb::gil_scoped_release released;
      has_ended = done.wait_for(pause) == std::future_status::ready;
      const std::lock_guard lock(mutex_);
      news = std::exchange(latest_, {});
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (news && !listener_.is_none()) listener_(news->stage, news->done, news->total, news->residual);
    return has_ended;
  }

  nb::object listener_;
  std::mutex mutex_;
  std::optional<Progress> latest_;
  std::atomic<bool> is_stopped_ = false;
};

/// Returns the images of a series as one array [repetition][slice][z][y][x].
template <class Values>
nb::object stacked(const io::ImageSeries& series, Values Image::*values_of) {
  const Shape one = (series.images.front().*values_of).shape();
  Values all(Shape{series.repetition_count, series.slice_count, one[0], one[1], one[2]});
  auto* next = all.begin();
  for (const auto& image : series.images) {
    require_shape(image.*values_of, one, "image");
    next = std::copy((image.*values_of).begin(), (image.*values_of).end(), next);
  }
  return to_numpy(std::move(all));
}

nb::object to_python(const io::ImageSeries& series) {
  if (series.images.empty()) return nb::none();
  return series.images.front().in_double.empty() ? stacked(series, &Image::values)
                                                 : stacked(series, &Image::in_double);
}

/// Returns the matrix of each slice from voxel (x, y, z, 1) to LPS, mm.
std::vector<Affine> affines_of(const io::ImageSeries& series) {
  auto maps = io::voxel_maps_of(series);
  maps.resize(static_cast<std::size_t>(series.slice_count));
  return maps;
}

/// The results of a run; the arrays of Python are copies.
class ResultHandle {
 public:
  /// `is_of_file`: the scan is a file, not arrays.
  ResultHandle(std::unique_ptr<app::ScanRun> run, bool is_of_file)
      : run_(std::move(run)), is_of_file_(is_of_file) {}

  nb::object image() const { return to_python(results().series()); }
  nb::object gridded() const { return to_python(results().gridded()); }
  nb::dict diagnostics() const {
    const auto& shown = results().companions().diagnostic_images;
    nb::dict diagnostics;
    const auto add = [&](const char* name, const auto& array) {
      if (!array.empty()) diagnostics[name] = to_numpy(Array(array));
    };
    add("sensitivity_maps", shown.sensitivity_maps);
    add("point_spread", shown.point_spread);
    add("temporal_basis", shown.temporal_basis);
    add("components", shown.components);
    add("set_images", shown.set_images);
    if (const auto& noise = results().companions().noise) {
      add("noise_deviation", noise->deviation);
      add("snr", noise->snr);
      add("g_factor", noise->g_factor);
    }
    return diagnostics;
  }
  /// Returns the text of OUT.json.
  std::string report() const {
    const auto made = io::report_text(results().series(), results().provenance(), results().companions());
    return io::joined_report(made.report, made.environment);
  }
  /// Returns the matrix of each slice from voxel (x, y, z, 1) to LPS, mm.
  std::vector<Affine> affines() const { return affines_of(results().series()); }
  void save(const std::string& prefix, bool force) {
    begin_work();
    const std::string name = io::without_result_ending(prefix);
    const auto request = app::request_of(*run_, name);
    io::check_writable(request, is_of_file_ ? results().inputs() : std::vector<std::string>{});
    io::require_replaceable(request, results().path(),
                            io::ChecksumInBackground::of(results().provenance().input_checksum),
                            {.force = force});
    app::write_results(*run_, io::OutputLock(name), name);
  }

 private:
  const app::ScanResults& results() const { return run_->results; }
  std::unique_ptr<app::ScanRun> run_;
  bool is_of_file_;
};

std::shared_ptr<ResultHandle> recon(const std::shared_ptr<ScanHandle>& scan,
                                    const std::map<std::string, std::string>& given,
                                    const std::string& device, const std::string& call, nb::object listener) {
  std::shared_ptr<ResultHandle> result;
  Watched watched(std::move(listener));
  const auto progress = watched.callback();
  watched.run([&] {
    const std::lock_guard lock(scan->mutex);
    app::RunOptions options;
    options.cache = "auto";
    for (const auto& [flag, value] : given)
      app::set_option(options, *app::find_option(flag, app::in_batch), value);
    options.device.set_name(device);
    app::RunSettings of(std::move(options));
    of.is_sparing = true;
    const auto settings = std::make_shared<const app::RunSettings>(std::move(of));
    auto checksum =
        std::async(std::launch::async, [&] { return scan->checksum([&] { return watched.is_stopped(); }); });
    auto run = app::open_run(std::make_unique<io::ScanFile>(*scan->file), scan->name, settings, call);
    const auto chosen = settings->options.device.choose();
    const CurrentDevice current(chosen.device);
    app::start_reading(*run);
    const auto make = [&](const app::ChosenDevice& where, int) { return app::make_engine(*settings, where); };
    app::RunEvents events{.progress = progress};
    events.on_fallback = app::print_fallback;
    app::reconstruct(*run, {{chosen}, make}, events);
    run->results.set_checksum(checksum.get());
    run->results.require_trust(settings->options.strict);
    result = std::make_shared<ResultHandle>(std::move(run), scan->arrays == nullptr);
  });
  return result;
}

/// Returns the images and the report of OUT.h5.
nb::dict load(const std::string& path) {
  io::ImageSeries images, gridded;
  std::string report;
  begin_work();
  {
    const nb::gil_scoped_release released;
    images = io::read_image(path);
    report = io::read_report_text(path);
    const auto facts = io::facts_of_hdf5(path, {"/gridded"});
    if (facts && facts->front()) gridded = io::read_image(path, "/gridded");
  }
  nb::dict reported;
  reported["image"] = to_python(images);
  reported["gridded"] = to_python(gridded);
  reported["report"] = nb::cast(report);
  reported["affines"] = nb::cast(affines_of(images));
  return reported;
}

/// Returns the options of a reconstruction, or `of_files` those of reading a file: flag, text, whether it takes no value,
/// default, and the kind of value as the help of the program shows it.
std::vector<std::tuple<std::string, std::string, bool, std::string, std::string>> options(bool of_files) {
  std::vector<std::tuple<std::string, std::string, bool, std::string, std::string>> found;
  app::RunOptions defaults;
  defaults.cache = "auto";
  for (const auto& row : app::option_table())
    if ((row.commands & (of_files ? app::in_info | app::in_process : app::in_batch)) != 0)
      found.emplace_back(row.flag, row.help, row.is_flag(), row.standard ? row.standard(defaults) : "",
                         row.value);
  return found;
}

}  // namespace

void bind_recon(nb::module_& module) {
  nb::class_<ResultHandle>(module, "ResultHandle")
      .def_prop_ro("image", &ResultHandle::image)
      .def_prop_ro("gridded", &ResultHandle::gridded)
      .def_prop_ro("diagnostics", &ResultHandle::diagnostics)
      .def_prop_ro("affines", &ResultHandle::affines)
      .def_prop_ro("report", &ResultHandle::report)
      .def("save", &ResultHandle::save, nb::arg("prefix"), nb::arg("force"),
           nb::call_guard<nb::gil_scoped_release>());
  module.def("recon", &recon, nb::arg("scan"), nb::arg("given"), nb::arg("device"), nb::arg("call"),
             nb::arg("listener").none());
  module.def("load", &load, nb::arg("path"));
  module.def(
      "load_image",
      [](const std::string& path, const std::string& dataset) {
        io::ImageSeries series;
        begin_work();
        {
          const nb::gil_scoped_release released;
          series = io::read_image(path, dataset);
        }
        return to_python(series);
      },
      nb::arg("path"), nb::arg("dataset"));
  module.def(
      "write_page",
      [](const std::string& result, const std::string& path, bool force) {
        begin_work();
        const nb::gil_scoped_release released;
        io::require_writable_folder(path);
        io::write_report_page({result}, path, force);
      },
      nb::arg("result"), nb::arg("path"), nb::arg("force"));
  module.def("options", &options, nb::arg("of_files"));
  module.def("terms", &app::regularizer_names);
  module.def("nearest_word", &app::nearest_word, nb::arg("word"), nb::arg("known"));
}

}  // namespace fhd::python
