#pragma once
// TOML that others gave us. The library makes a table of every dot of a key, and goes through tables, and takes them apart, by
// functions that call themselves: a.a.a.a, 30,000 deep, is the end of the stack.
#include <cstddef>
#include <string_view>

namespace fhd::app {

/// The line on which keys, tables and lists first lie more than `most` deep in each other; 0 where there is none. Dots of keys,
/// brackets and braces count, those within strings and comments do not. A header is counted by itself, so that what is
/// accepted lies at most twice so deep.
std::size_t line_nesting_deeper_than(int most, std::string_view text);

}  // namespace fhd::app
