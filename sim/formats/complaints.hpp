// What is wrong with one text, told with its place: the first errors in full, then that there are more; a warning once
// a kind. Each is a config::Diagnostic: place, what is wrong, what would be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/config/diagnostics.hpp"
#include "sim/formats/source_text.hpp"

namespace moire::formats {

class Complaints {
 public:
  static constexpr std::size_t told = 20;
  // What a reader does after as many errors as are told: it goes on and counts the others, or it stops.
  enum class Beyond { counted, unread };

  // `name` is what errors call the text; where it is "", or left out, only errors with a config::Place have a place.
  explicit Complaints(config::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Complaints(const std::string& name, config::Diagnostics& diagnostics, Beyond beyond = Beyond::counted);
  ~Complaints();
  Complaints(const Complaints&) = delete;
  Complaints& operator=(const Complaints&) = delete;

  void error(const config::Place& place, std::string what, std::string remedy);
  void error(Position at, std::string what, std::string remedy);
  // The same of a text that is read line by line.
  void error(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // An error after which the rest of the text says nothing.
  void fatal(std::int64_t line, std::size_t col, std::string what, std::string remedy);
  // The first of a kind is told in full, with the number of others like it.
  void warning(const std::string& kind, Position at, std::string what, std::string remedy);

  bool ok() const { return errors_ == 0; }
  std::size_t errors() const { return errors_; }
  bool stopped() const { return stopped_; }  // nothing more is told
  config::Place place(Position at) const;
  const std::shared_ptr<const config::Source>& source() const { return source_; }

 private:
  struct Warning {
    Position at;
    std::string what;
    std::string remedy;
    std::size_t others = 0;
  };

  config::Diagnostics& diagnostics_;
  std::shared_ptr<const config::Source> source_;
  Beyond beyond_ = Beyond::counted;
  std::size_t errors_ = 0;
  bool stopped_ = false;
  std::map<std::string, Warning> warnings_;
};

}  // namespace moire::formats
