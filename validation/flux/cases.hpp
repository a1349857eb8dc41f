// Reads from a CSV file which cases to measure.
#pragma once

#include <string>
#include <vector>

// What a case measures: a plain GEMM, GEMM + ReduceScatter (from rs_store on), or AllGather + GEMM (from ag_copy on).
enum class Mode {
  gemm,            // the GEMM kernel of this folder, without communication
  gemm_cublas,     // the GEMM of cuBLASLt
  rs_store,        // GEMM + ReduceScatter: tiles are stored to their owner, and a reduction follows the GEMM
  rs_store_late,   // like rs_store, but a tile's counter is raised when the next tile's main loop has ended
  rs_add,          // tiles are added to their owner's output
  reduce,          // the reduction of rs_store alone
  rs_nccl,         // the GEMM of cuBLASLt, then NCCL's reduce-scatter
  reduce_scatter,  // NCCL's reduce-scatter alone
  ag_copy,         // AllGather + GEMM: copy engines send rows of A, and tiles wait for the flags of their rows
  ag_push,         // workgroups of the GEMM kernel store rows of A to the peers
  copies,          // the copies and flags of ag_copy alone
  ag_nccl,         // NCCL's all-gather, then the GEMM of cuBLASLt
  all_gather,      // NCCL's all-gather alone
};
inline const std::vector<std::string> kModeNames = {
    "gemm",           "gemm_cublas", "rs_store", "rs_store_late", "rs_add",  "reduce",    "rs_nccl",
    "reduce_scatter", "ag_copy",     "ag_push",  "copies",        "ag_nccl", "all_gather"};

inline bool is_gemm(Mode mode) { return mode <= Mode::gemm_cublas; }
inline bool is_scatter(Mode mode) { return mode >= Mode::rs_store && mode <= Mode::reduce_scatter; }
inline bool is_gather(Mode mode) { return mode >= Mode::ag_copy; }

struct Case {
  Mode mode = Mode::gemm;
  int m = 0, n = 0, k = 0;  // of the GEMM of one GPU
  // Number of chunks into which a rank's rows of A are cut. For a plain GEMM: number of blocks of rows that are
  // computed one after the other, as in a fused kernel of as many ranks.
  int chunks = 1;
  bool swizzle = true;  // each rank begins with another rank's rows
  bool traced = false;  // the case is also traced
};

inline constexpr const char* kCaseColumns = "mode,m,n,k,chunks,swizzle,trace";

// Returns the cases of `modes` ("": all modes) that `gpus` GPUs can run. Prints every error as file:line: what is
// wrong, and ends the program with status 2 if there was one.
std::vector<Case> read_cases(const std::string& path, const std::string& modes, int gpus);
