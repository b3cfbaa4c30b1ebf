#pragma once
// The client's side of an MRD session (app/server/messages.hpp).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "io/hdf5/hdf5.hpp"
#include "io/scan/mrd/records.hpp"
#include "recon/error.hpp"

namespace fhd::validation {

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline std::string long_message(std::uint16_t id, const std::string& text) {
  std::string bytes;
  put(bytes, id), put(bytes, static_cast<std::uint32_t>(text.size()));
  return bytes + text;
}
inline std::string name_message(std::string name) {
  name.resize(1024);
  std::string bytes;
  put(bytes, std::uint16_t{1});
  return bytes + name;
}
inline std::string configuration_message(const std::string& text) { return long_message(2, text); }
inline std::string header_message(const std::string& xml) { return long_message(3, xml); }
inline std::string close_message() { return {"\4\0", 2}; }

/// Member after member, as the format packs them.
inline std::string acquisition_message(const io::mrd::ReadoutHead& h, std::span<const float> trajectory,
                                       std::span<const float> values) {
  std::string bytes;
  put(bytes, std::uint16_t{1008});
  put(bytes, h.version), put(bytes, h.flags), put(bytes, h.measurement_uid), put(bytes, h.scan_counter);
  put(bytes, h.acquisition_time_stamp), put(bytes, h.physiology_time_stamp), put(bytes, h.number_of_samples);
  put(bytes, h.available_channels), put(bytes, h.active_channels), put(bytes, h.channel_mask);
  put(bytes, h.discard_pre), put(bytes, h.discard_post), put(bytes, h.center_sample);
  put(bytes, h.encoding_space_ref), put(bytes, h.trajectory_dimensions), put(bytes, h.sample_time_us);
  put(bytes, h.position), put(bytes, h.read_dir), put(bytes, h.phase_dir), put(bytes, h.slice_dir);
  put(bytes, h.patient_table_position), put(bytes, h.idx), put(bytes, h.user_int), put(bytes, h.user_float);
  if (bytes.size() != 342)
    throw Error("an acquisition", "342 bytes before its arrays", std::to_string(bytes.size()));
  for (const auto& numbers : {trajectory, values})
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  return bytes;
}

/// A file, as messages.
struct RecordedScan {
  std::string xml;
  std::vector<std::string> acquisitions;
  explicit RecordedScan(const std::string& path) {
    const auto file = io::hdf5::File::open(path);
    xml = file.read_text("/dataset/xml");
    const io::mrd::RecordDataset records(file, "/dataset");
    io::mrd::RecordReader reader(records, true);
    for (std::int64_t i = 0; i < records.count(); ++i) {
      const auto readout = reader(i);
      acquisitions.push_back(acquisition_message(readout.head, readout.trajectory, readout.values));
    }
  }
  std::string all() const {
    std::string bytes = header_message(xml);
    for (const auto& one : acquisitions) bytes += one;
    return bytes;
  }
};

struct ReceivedImage {
  std::uint16_t data_type = 0, matrix_size[3]{}, slice = 0, contrast = 0, repetition = 0, image_index = 0;
  float field_of_view[3]{};
  std::string attributes;
  std::vector<float> values;                   ///< complex: re, im
  std::chrono::steady_clock::time_point came;  ///< its last byte
};

class MrdClient {
 public:
  explicit MrdClient(int port, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0)
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval longest{60, 0};  // a test fails, and does not hang
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~MrdClient() {
    if (socket_ >= 0) close(socket_);
  }
  MrdClient(const MrdClient&) = delete;
  MrdClient& operator=(const MrdClient&) = delete;

  bool is_connected() const { return connected_; }
  /// False where the server takes no more.
  bool send(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return true;
  }
  /// From now on sends end after so long without room.
  void give_up_after(std::chrono::seconds time) {
    const timeval longest{time.count(), 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  }
  void end_of_stream() { shutdown(socket_, SHUT_WR); }
  /// Ends as a client that dies.
  void vanish() {
    const linger at_once{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(socket_);
    socket_ = -1;
  }
  /// Until there are so many images, or the session has ended.
  void read(std::size_t images_wanted = ~std::size_t{0}) {
    while (images.size() < images_wanted && read_message()) {
    }
  }
  /// From now on at most so many bytes at once, with pauses.
  void read_slowly(std::size_t bytes, std::chrono::milliseconds pause) { at_once_ = bytes, pause_ = pause; }
  /// A whole session.
  void run(const RecordedScan& scan, const std::string& configuration = {}) {
    send((configuration.empty() ? "" : configuration_message(configuration)) + scan.all() + close_message());
    read();
  }

  std::vector<ReceivedImage> images;
  std::vector<std::string> texts;
  bool closed = false;  ///< the server has said that it is over
  std::string error() const {
    return !texts.empty() && texts.back().starts_with("error: ") ? texts.back().substr(7) : "";
  }

 private:
  bool take(void* to, std::size_t bytes) {
    for (std::size_t got = 0; got < bytes;) {
      if (pause_.count() > 0 && bytes > 1000) std::this_thread::sleep_for(pause_);
      const auto count = recv(socket_, static_cast<char*>(to) + got, std::min(at_once_, bytes - got), 0);
      if (count <= 0) return false;
      got += static_cast<std::size_t>(count);
    }
    return true;
  }
  bool read_message() {
    std::uint16_t id = 0;
    if (!take(&id, 2)) return false;
    if (id == 4) return closed = true;
    if (id == 5) {
      std::uint32_t length = 0;
      if (!take(&length, 4)) return false;
      return take(texts.emplace_back(length, '\0').data(), length);
    }
    if (id != 1022) throw Error("a message of the server", "an image, a text or close", std::to_string(id));
    return read_image();
  }
  bool read_image() {
    std::string head(198, '\0');
    std::uint64_t length = 0;
    if (!take(head.data(), head.size()) || !take(&length, 8)) return false;
    ReceivedImage image;
    const auto get = [&](std::size_t at, auto& to) { std::memcpy(&to, head.data() + at, sizeof to); };
    get(2, image.data_type), get(16, image.matrix_size), get(22, image.field_of_view);
    get(98, image.slice), get(100, image.contrast), get(104, image.repetition), get(126, image.image_index);
    image.attributes.resize(length);
    image.values.resize(std::size_t{image.data_type == 7 ? 2u : 1u} * image.matrix_size[0] *
                        image.matrix_size[1] * image.matrix_size[2]);
    if (!take(image.attributes.data(), length) ||
        !take(image.values.data(), image.values.size() * sizeof(float)))
      return false;
    image.came = std::chrono::steady_clock::now();
    images.push_back(std::move(image));
    return true;
  }

  int socket_;
  std::size_t at_once_ = std::size_t{1} << 30;
  std::chrono::milliseconds pause_{0};
  bool connected_ = false;
};

/// Returns the error of an image of magnitudes, or of complex values, beside image `number` of `all`: relative l2.
inline double difference(const ReceivedImage& image, const Array<Complex<float>>& all, std::int64_t number) {
  const auto count = static_cast<std::int64_t>(image.values.size()) / (image.data_type == 7 ? 2 : 1);
  double rest = 0, size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto expected = all[number * count + i];
    const auto at = static_cast<std::size_t>(i);
    const double magnitude = std::hypot(double{expected.re}, double{expected.im});
    rest += image.data_type == 7 ? std::pow(double{image.values[2 * at]} - expected.re, 2) +
                                       std::pow(double{image.values[2 * at + 1]} - expected.im, 2)
                                 : std::pow(double{image.values[at]} - magnitude, 2);
    size += magnitude * magnitude;
  }
  return std::sqrt(rest / size);
}

}  // namespace fhd::validation
