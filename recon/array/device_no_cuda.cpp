// A build without CUDA has the same entry points: no device, and handles that throw one clear Error.
#include "recon/array/device.hpp"
#include "recon/array/no_cuda.hpp"

namespace fhd::device {

std::string Description::text() const { return name; }
Inventory inventory() { return {{}, "this program was built without CUDA"}; }
Description select(int) { refuse_cuda(); }
void synchronize() {}
MemoryUse memory_use() { return {}; }
void reset_peak_memory() {}
void limit_memory(std::size_t) {}

Stream::Stream() { refuse_cuda(); }
Stream::~Stream() = default;
void Stream::wait(const Event&) const {}
void Stream::synchronize() const {}

Event::Event(Timing) { refuse_cuda(); }
Event::~Event() = default;
void Event::record() {}
void Event::record(const Stream&) {}
void Event::synchronize() const {}
void Event::hold_default_stream() const {}
double Event::ms_since(const Event&) const { return 0; }

PinnedBuffer::PinnedBuffer(std::size_t) { refuse_cuda(); }
PinnedBuffer::~PinnedBuffer() = default;

}  // namespace fhd::device
