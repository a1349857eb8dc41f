// How the reads of a table divide among its rows.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/memory/cache.hpp"

namespace moire::memory {

// The rows of one table, from the most to the least popular, in groups of (nearly) equal popularity. With Zipf's law
// the first groups are single rows, and a later group has about an eighth as many rows as there are before it.
class Popularity {
 public:
  struct Group {
    double rows;
    double share;  // share of all reads that go to one row of the group
  };

  explicit Popularity(const TableReads& reads);

  const std::vector<Group>& groups() const { return groups_; }

  // Returns the expected number of different rows among `reads` reads.
  double distinct(double reads) const;

  // Returns the number of lines that rows fill if a line stays for `reads` reads of the table after its last use.
  double lines(double reads, double partitions) const;

  // Returns the share of the reads that then miss.
  double misses(double reads, double partitions) const;

  // Returns the share of the reads that hit in a room of the cache that holds none of the rows at first. Each of
  // `reads` reads in a pass puts its row into the room, and each line leaves with probability `leaves` per read. Of the
  // rows that the room holds at the end of a pass, the next pass finds the share `kept`.
  double hits_in_room(double reads, double leaves, std::int64_t passes, double kept) const;

 private:
  std::vector<Group> groups_;
};

}  // namespace moire::memory
