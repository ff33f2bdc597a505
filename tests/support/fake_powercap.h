// A powercap tree as Linux shows it, in a temporary folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>

namespace epochbench::test {

class FakePowercap {
 public:
  FakePowercap() {
    std::string name = (std::filesystem::temp_directory_path() / "epochbench-powercap-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    folder = name;
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
  }
  ~FakePowercap() { std::filesystem::remove_all(folder); }
  FakePowercap(const FakePowercap&) = delete;
  FakePowercap& operator=(const FakePowercap&) = delete;

  void domain(const std::string& entry, const std::string& name, std::int64_t microjoules,
              std::int64_t range = 262143328850) const {
    std::filesystem::create_directories(folder + "/" + entry);
    write(entry + "/name", name);
    write(entry + "/max_energy_range_uj", std::to_string(range));
    count(entry, microjoules);
  }
  void count(const std::string& entry, std::int64_t microjoules) const {
    write(entry + "/energy_uj", std::to_string(microjoules));
  }
  void write(const std::string& path, const std::string& text) const {  // at once, for who reads meanwhile
    const std::string file = folder + "/" + path;
    std::ofstream(file + ".new") << text << "\n";
    std::filesystem::rename(file + ".new", file);
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(folder + "/" + path); }

  std::string folder;
};

}  // namespace epochbench::test
