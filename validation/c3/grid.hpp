// Reads what to measure from CSV files: pairs of compute and communication, and the strategies for running them
// together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "work.hpp"

struct Pair {
  ComputeShape compute;
  bool has_collective = true;  // false: the compute is only measured alone
  Kind kind = Kind::all_gather;
  int64_t bytes_per_rank = 0;
};

enum class First { compute, comm };

struct Strategy {
  std::string name;
  bool copy_engine = false;
  int max_ctas = 0;  // most workgroups of NCCL; 0: NCCL chooses
  int streams = 1;   // streams for copy engines; 0: one per peer
  bool priority = false;
  First first = First::compute;
  int compute_sms = 0;  // SMs that the compute may use; 0: all
  bool fits(Kind kind) const { return !copy_engine || kind == Kind::all_gather || kind == Kind::all_to_all; }
};

inline constexpr const char* kPairColumns = "compute,m,n,k,dtype,stream_bytes,codec,collective,bytes_per_rank";
inline constexpr const char* kStrategyColumns = "strategy,engine,max_ctas,streams,priority,first,compute_sms";

// Return the rows of a CSV file, in which lines that begin with # are comments. Both functions print every error as
// file:line: what is wrong, and end the program with status 2 if there was one.
std::vector<Pair> read_pairs(const std::string& path);
std::vector<Strategy> read_strategies(const std::string& path);
