// Lists of scans for a batch. The input is the text. Names stay within an empty folder: '/' and '~' become '_'.
#include <unistd.h>

#include <algorithm>

#include "app/batch/scans.hpp"
#include "validation/fuzz/harness.hpp"

using namespace fhd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const int moved = [] {
    folder.write("a.h5", {});
    folder.write("b.h5", {});
    return chdir(folder.path().c_str());
  }();
  fuzz::require(moved == 0);
  std::vector<std::uint8_t> text(data, data + size);
  std::replace(text.begin(), text.end(), std::uint8_t{'/'}, std::uint8_t{'_'});
  std::replace(text.begin(), text.end(), std::uint8_t{'~'}, std::uint8_t{'_'});
  const fuzz::InputFile file(text);
  fuzz::succeeds([&] {
    const auto list = app::list_scans({"@" + file.path()}, folder.path());
    for (const auto& scan : list.scans) {  // its results are files of the folder
      fuzz::require(!scan.name.empty() && scan.name.size() < 240);
      fuzz::require(scan.name.find('/') == std::string::npos && scan.name.front() != '.');
    }
  });
  return 0;
}
