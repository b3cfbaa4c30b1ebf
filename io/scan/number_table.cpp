#include <hdf5.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <vector>

#include "io/files/atomic_file.hpp"
#include "io/files/in_reader.hpp"
#include "io/files/input_stamps.hpp"
#include "io/hdf5/hdf5.hpp"
#include "io/scan/companion_files.hpp"
#include "recon/error.hpp"

namespace fhd::io {
namespace {

constexpr std::int64_t most_numbers = std::int64_t{1} << 26;

/// Appends the numbers of a line, and returns how many they are.
std::int64_t append_numbers(std::string_view line, const std::string& subject, std::vector<double>& numbers) {
  constexpr std::string_view between = " \t,\r";
  line = line.substr(0, line.find('#'));
  std::int64_t count = 0;
  for (auto begin = line.find_first_not_of(between); begin != std::string_view::npos;
       begin = line.find_first_not_of(between)) {
    line.remove_prefix(begin);
    const auto word = line.substr(0, line.find_first_of(between));
    line.remove_prefix(word.size());
    double number = 0;
    const char* const first = word.data() + (word.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(first, word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(number))
      throw Error(subject, "finite numbers", "'" + std::string(word.substr(0, 40)) + "'");
    numbers.push_back(number);
    ++count;
  }
  return count;
}

Array<double> read_text_table(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path, "a text file of numbers that can be read", "none");
  std::vector<double> numbers;
  std::int64_t rows = 0, columns = 0, line_number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string subject = path + ", line " + std::to_string(++line_number);
    const auto count = append_numbers(line, subject, numbers);
    if (count == 0) continue;
    if (rows++ == 0) columns = count;
    if (count != columns)
      throw Error(subject, std::to_string(columns) + " numbers, as in the first", std::to_string(count));
    if (static_cast<std::int64_t>(numbers.size()) > most_numbers)
      throw Error(path, "at most " + std::to_string(most_numbers) + " numbers", "more");
  }
  if (file.bad()) throw Error(path, "a file that can be read to its end", "one that cannot");
  if (rows == 0) throw Error(path, "numbers", "none");
  Array<double> table(Shape{rows, columns});
  std::copy(numbers.begin(), numbers.end(), table.begin());
  return table;
}

Array<double> read_hdf5_table(const std::string& path, const std::string& name) {
  const auto file = hdf5::File::open(path);
  if (!file.has(name)) throw Error(path, "the dataset " + name, "none of this name");
  const auto dataset = file.dataset(name);
  const auto& extents = dataset.extents();
  if (extents.empty() || extents.size() > 2)
    throw Error(dataset.subject(), "numbers along one axis or two", hdf5::text_of(extents));
  const std::int64_t rows = extents[0], columns = extents.size() == 1 ? 1 : extents[1];
  if (rows < 1 || columns < 1 || rows > most_numbers / columns)
    throw Error(dataset.subject(), "1 ... " + std::to_string(most_numbers) + " numbers",
                hdf5::text_of(extents));
  auto table = dataset.read<double>(extents.size() == 1 ? Shape{rows} : Shape{rows, columns});
  for (const double number : table)
    if (!std::isfinite(number)) throw Error(dataset.subject(), "finite numbers", "NaN or infinity");
  return std::move(table).reshaped(Shape{rows, columns});
}

}  // namespace

Array<double> read_number_table_here(const std::string& path, const std::string& dataset) {
  require_regular_file(path);  // a pipe would wait or never end
  hdf5::be_silent();
  return H5Fis_hdf5(path.c_str()) > 0 ? read_hdf5_table(path, dataset) : read_text_table(path);
}

Array<double> read_number_table(const std::string& path, const std::string& dataset) {
  auto table =
      read_unchanged(InputStamps({path}), [&] { return in_reader<&read_number_table_here>(path, dataset); });
  if (table.shape().rank() != 2 || table.empty())
    throw Error(path, "a table of numbers", table.shape().text(), "the file is damaged");
  return table;
}

}  // namespace fhd::io
