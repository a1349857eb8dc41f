// A work is something that runs on all GPUs at the same time: a GEMM on each, or a collective between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

class Work {
 public:
  virtual ~Work() = default;
  // Enqueues the work on streams[gpu] of every GPU. An operation that is enqueued on streams[gpu] afterwards begins
  // when the work has ended on this GPU.
  virtual void enqueue(const std::vector<cudaStream_t>& streams) = 0;
};

// The kinds of collectives. The size of a collective is its input in bytes per rank.
enum class Kind { all_gather, all_to_all, all_reduce, reduce_scatter };
inline constexpr Kind kKinds[] = {Kind::all_gather, Kind::all_to_all, Kind::all_reduce, Kind::reduce_scatter};
inline const std::vector<std::string> kKindNames = {"all_gather", "all_to_all", "all_reduce", "reduce_scatter"};
inline const std::string& name_of(Kind kind) { return kKindNames[size_t(kind)]; }

// The computation that runs beside a collective: a GEMM, a stream, or the kernels of a codec.
struct ComputeShape {
  std::string name;
  int m = 0, n = 0, k = 0;   // a GEMM in bf16, C[m][n] = A[m][k] B[k][n]; 0 if stream_bytes is set
  int64_t stream_bytes = 0;  // a stream in fp32, out = in + 1, that reads and writes this number of bytes
  std::string codec;         // instead of the addition, ZFP's "compress" or "decompress" of stream_bytes of fp32
  bool fp16 = false;         // the GEMM reads and writes fp16
  bool b_by_column = false;  // B is stored as [n][k]
  bool is_codec() const { return !codec.empty(); }
  bool is_stream() const { return stream_bytes > 0 && !is_codec(); }
};
