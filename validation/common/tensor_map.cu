#include "cuda_check.hpp"
#include "tensor_map.hpp"

void* driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(1);
  }
  return function;
}

CUtensorMap tensor_map(const void* base, int64_t rows, int64_t columns, int64_t row_elements, int box_rows,
                       int box_columns) {
  using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                              const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                              CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static const auto encode = reinterpret_cast<Encode>(driver_function("cuTensorMapEncodeTiled", 12000));
  CUtensorMap map;
  const cuuint64_t extent[] = {cuuint64_t(columns), cuuint64_t(rows)}, stride[] = {cuuint64_t(row_elements) * 2};
  const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, step[] = {1, 1};
  const CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(base), extent, stride,
                                 box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    std::fprintf(stderr, "tensor map of %lld x %lld, boxes of %d x %d: status %d\n", static_cast<long long>(rows),
                 static_cast<long long>(columns), box_rows, box_columns, static_cast<int>(status));
    std::exit(1);
  }
  return map;
}
