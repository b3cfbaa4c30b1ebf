// fhd serve: sessions with scanners and other clients; each image is made as its data arrives.
#include <arpa/inet.h>
#include <omp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/commands/commands.hpp"
#include "app/options/own_options.hpp"
#include "app/options/table.hpp"
#include "app/server/configuration.hpp"
#include "app/server/server.hpp"
#include "app/terminal/console.hpp"
#include "app/terminal/ending.hpp"
#include "app/terminal/processes.hpp"
#include "app/terminal/processors.hpp"
#include "io/files/input_file.hpp"

namespace fhd::app {
namespace {

struct ServeCommand {
  std::string host = "127.0.0.1", configurations;
  int port = 9002, most_sessions = 8, threads = 0, images_at_once = 0;
  double idle_s = 300, write_s = 30;
  std::int64_t image_s = 600;
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
  bool quiet = false;
  RunOptions options;

  int run();
  SessionLimits limits() const;
};

SessionLimits ServeCommand::limits() const {
  const auto in_ms = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  return {{in_ms(idle_s), in_ms(write_s)}, {most_bytes, std::chrono::seconds(image_s), images_at_once}};
}

int ServeCommand::run() {
  io::require_reachable(configurations);
  std::error_code unknown;
  if (!configurations.empty() && !std::filesystem::is_directory(configurations, unknown))
    throw UsageError(Error("--configs", "a folder", "'" + configurations + "'"));
  if (threads > 0) omp_set_num_threads(bounded_threads(threads));
  const auto device = options.device.choose();
  SharedProcessors processors{omp_get_max_threads()};
  const StopRequests stop_requests;
  keep_freed_memory();
  Server server(host, port, most_sessions, limits(), {device, processors, configurations, quiet});
  if (!quiet) print_out("device    {}\n", text_of({device}));
  print_out("listening at {}:{}\n", host, server.port());
  if (host != "127.0.0.1")
    print_error(
        "warning: --host " + host +
        ": whoever reaches this address may open sessions; there is no authentication and no encryption");
  if (server.run(std::chrono::seconds(10))) {
    if (!quiet) print_out("stopped\n");
    return 0;
  }
  print_error("stopped, with sessions that were still at work");
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace

Run add_serve(CLI::App& app) {
  const auto command = std::make_shared<ServeCommand>();
  app.add_option(
         "--host", command->host,
         "IPv4 address to listen at; beyond 127.0.0.1 whoever reaches it may open sessions: there is no "
         "authentication and no encryption")
      ->check([](const std::string& text) {
        in_addr address{};
        return inet_pton(AF_INET, text.c_str(), &address) == 1
                   ? std::string()
                   : "expected an IPv4 address such as 127.0.0.1, found '" + text + "'";
      })
      ->capture_default_str();
  add_whole(app, "--port", command->port, "to listen at; 0: one that is free, which is printed", 0, 65535);
  app.add_option("--configs", command->configurations,
                 "folder of configurations that clients may name: NAME.toml, NAME.json")
      ->type_name("DIR");
  add_whole(app, "--max-sessions", command->most_sessions, "sessions at once; further ones are refused", 1,
            1024);
  const auto set_memory = [command](const std::string& bytes) {
    command->most_bytes = static_cast<std::uint64_t>(
        whole_of("--max-memory", bytes, std::int64_t{1} << 26, std::int64_t{1} << 50));
  };
  app.add_option_function<std::string>(
         "--max-memory", set_memory,
         "memory of a session for acquisitions that wait, for what is cached of slices, and for the work "
         "on images (also of a GPU), each; such as 4GiB [4GiB]")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  add_whole(app, "--max-seconds", command->image_s, "of work on one image", 1, 1000000);
  add_number(app, "--idle-timeout", command->idle_s,
             "seconds that a session waits for its client's next message", 0.1, 1e6);
  add_number(app, "--write-timeout", command->write_s,
             "seconds that a session waits for a client to read more of what it is sent", 0.1, 1e6);
  add_whole(app, "--threads", command->threads,
            "processor threads, which sessions share [all, or as many as a container's quota allots]", 0,
            4096);
  add_whole(
      app, "--images-at-once", command->images_at_once,
      "images of a session that are made concurrently after the first of their slice [as many as are of "
      "use]",
      0, 64);
  add_options(app, command->options, in_serve);
  app.add_flag("--quiet", command->quiet, "print nothing but errors and the port");
  app.footer(session_options_help());
  return [command] { return command->run(); };
}

}  // namespace fhd::app
