// A build without CUDA has the same entry points: no device, and handles that throw one clear Error.
#include "recon/array/device.hpp"
#include "recon/error.hpp"

namespace fhd::device {
namespace {

[[noreturn]] void throw_no_cuda() {
  throw Error("--device cuda", "", "this program was built without CUDA",
              "install the CUDA toolkit and configure again, or use --device cpu");
}

}  // namespace

std::string Description::text() const { return name; }
Inventory inventory() { return {{}, "this program was built without CUDA"}; }
Description select(int) { throw_no_cuda(); }
void synchronize() {}
MemoryUse memory_use() { return {}; }
void limit_memory(std::size_t) {}

Stream::Stream() { throw_no_cuda(); }
Stream::~Stream() = default;
void Stream::wait(const Event&) const {}
void Stream::synchronize() const {}

Event::Event(Timing) { throw_no_cuda(); }
Event::~Event() = default;
void Event::record() {}
void Event::record(const Stream&) {}
void Event::synchronize() const {}
void Event::hold_default_stream() const {}
double Event::ms_since(const Event&) const { return 0; }

PinnedBuffer::PinnedBuffer(std::size_t) { throw_no_cuda(); }
PinnedBuffer::~PinnedBuffer() = default;

}  // namespace fhd::device
