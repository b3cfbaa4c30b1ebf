#pragma once
// Files of other people are opened in a separate process if the program uses io/reader, which registers itself here; else, as
// in most tests, in this process.
namespace fhd::io {

/// Holds what runs in place of `function`; null: `function` itself.
template <auto function>
struct Replacement {
  static inline constinit decltype(function) call = nullptr;
};

/// Returns function(arguments...), called in a reader process if there is one. Throws Error, also if that process crashes,
/// hangs or takes too much memory.
template <auto function, class... Arguments>
auto in_reader(const Arguments&... arguments) {
  const auto replacement = Replacement<function>::call;
  return replacement != nullptr ? replacement(arguments...) : function(arguments...);
}

}  // namespace fhd::io
