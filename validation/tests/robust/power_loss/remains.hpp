#pragma once
// The states of a disk after the power has gone, for the writes that validation/tests/robust/power_loss/record.cpp has recorded
// they were flushed last, names as their folder was flushed last, and of later changes of names any that are asked for.
// Of what was never flushed a file has nothing.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "validation/tests/scratch.hpp"

namespace fhd::tests {

class PowerLog {
 public:
  /// `before`: a copy of the folder as it was when the program began, by path.
  PowerLog(const std::filesystem::path& log, std::map<std::string, std::string> before)
      : folder_(log), before_(std::move(before)) {
    std::istringstream lines(bytes_of((log / "log").string()));
    for (std::string kind; lines >> kind;) {
      auto& event = events_.emplace_back();
      event.kind = kind[0];
      std::size_t count = 0;
      if (event.kind == 'F') lines >> event.id >> event.blob;
      if (event.kind == 'D') lines >> event.id;
      if (event.kind == 'N') lines >> count;
      for (std::string id, type, path; count > 0 && lines >> id >> type; --count) {
        std::getline(lines >> std::ws, path);
        if (path == ".")
          folder_id_ = id;
        else
          event.names[path] = {id, type == "d"};
      }
    }
  }

  std::size_t events() const { return events_.size(); }

  /// Which of the changes of names that no flush has made certain are on the disk: called for each, in their order.
  using Survives = std::function<bool()>;

  /// Makes in `to`, which is empty, what remains when the power goes before event `end`.
  void leave(std::size_t end, const Survives& survives, const std::filesystem::path& to) const {
    const auto names = names_at(end, survives);
    std::map<std::string, std::string> contents;  // by ID
    if (!events_.empty())
      for (const auto& [path, entry] : first_names())
        if (before_.count(path) > 0) contents[entry.id] = before_.at(path);
    for (std::size_t i = 0; i < end; ++i)
      if (events_[i].kind == 'F') contents[events_[i].id] = bytes_of((folder_ / events_[i].blob).string());
    for (const auto& [path, entry] : names) {  // folders come before what is in them
      if (!std::filesystem::exists((to / path).parent_path())) continue;
      if (entry.is_folder)
        std::filesystem::create_directory(to / path);
      else
        write_text((to / path).string(), contents[entry.id]);
    }
  }

 private:
  struct Entry {
    std::string id;
    bool is_folder = false;
    bool operator==(const Entry& other) const { return id == other.id; }
  };
  using Names = std::map<std::string, Entry>;
  struct Event {
    char kind = 0;
    std::string id, blob;
    Names names;
  };

  const Names& first_names() const {
    static const Names none;
    const auto first =
        std::find_if(events_.begin(), events_.end(), [](const Event& event) { return event.kind == 'N'; });
    return first == events_.end() ? none : first->names;
  }

  /// Changes from one state to the next belong together: a rename takes one name and gives another.
  struct Change {
    std::vector<std::string> gone;
    Names come;
    void apply(Names& names) const {
      for (const auto& path : gone) names.erase(path);
      for (const auto& [path, entry] : come) names[path] = entry;
    }
  };

  static std::string folder_of(const std::string& path) {
    return std::filesystem::path(path).parent_path().string();
  }

  Names names_at(std::size_t end, const Survives& survives) const {
    Names certain = first_names(), latest = certain;
    std::vector<std::pair<std::string, Change>> pending;  // with the folder that has to be flushed
    const auto note = [&](const Names& next) {
      Change change;
      for (const auto& [path, entry] : latest)
        if (next.count(path) == 0) change.gone.push_back(path);
      for (const auto& [path, entry] : next)
        if (latest.count(path) == 0 || !(latest.at(path) == entry)) change.come[path] = entry;
      if (change.gone.empty() && change.come.empty()) return;
      // Returns the folder of a folder that is renamed, with its content.
      std::string top = change.come.empty() ? change.gone.front() : change.come.begin()->first;
      for (const auto& path : change.gone)
        top = std::min(top, path, [](auto& a, auto& b) { return a.size() < b.size(); });
      pending.emplace_back(folder_of(top), std::move(change));
      latest = next;
    };
    const auto flush = [&](const std::string& id) {
      std::string path;  // of the folder itself: empty
      bool known = id == folder_id_;
      for (const auto& [name, entry] : latest)
        if (entry.is_folder && entry.id == id) path = name, known = true;
      if (!known) return;  // another place
      std::vector<std::pair<std::string, Change>> left;
      for (auto& [folder, change] : pending)
        if (folder == path)
          change.apply(certain);
        else
          left.emplace_back(folder, std::move(change));
      pending = std::move(left);
    };
    for (std::size_t i = 0; i < end; ++i) {
      if (events_[i].kind == 'N') note(events_[i].names);
      if (events_[i].kind == 'D') flush(events_[i].id);
    }
    for (const auto& [folder, change] : pending)
      if (survives()) change.apply(certain);
    return certain;
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> before_;
  std::vector<Event> events_;
  std::string folder_id_;
};

}  // namespace fhd::tests
