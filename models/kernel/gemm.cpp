#include "models/kernel/gemm.hpp"

#include <algorithm>
#include <array>

#include "sim/config/spec.hpp"

namespace moire::models::kernel {

namespace {

constexpr std::int64_t k_step = 32;  // elements of one k-loop step
constexpr std::int64_t stages = 3;   // steps whose loads are under way
constexpr std::int64_t threads = 256;
constexpr std::int64_t registers = 128;  // accumulators and addresses of a 128 x 128 tile over 256 threads

class GemmBody final : public program::KernelBody {
 public:
  explicit GemmBody(std::int64_t tiles) : tiles_(tiles) {}
  std::int64_t workgroups(program::Rank) const override { return tiles_; }
  bool phase(program::Rank, std::int64_t, std::uint32_t step, program::Phase& phase) const override {
    phase.kind = program::Phase::Kind::work;
    phase.amount = 1;
    return step == 0;
  }

 private:
  std::int64_t tiles_;
};

std::int64_t tiles_of(const GemmSpec& spec, const Tile& tile) {
  return ((spec.m + tile.m - 1) / tile.m) * ((spec.n + tile.n - 1) / tile.n);
}

}  // namespace

void GemmSpec::describe(config::Describer<GemmSpec>& d) {
  d.component("gemm", "Dense matrix product C[m x n] = A[m x k] B[k x n] on every rank.");
  d.field("m", &GemmSpec::m, "Rows of A and C").range(1, 1 << 24);
  d.field("n", &GemmSpec::n, "Columns of B and C").range(1, 1 << 24);
  d.field("k", &GemmSpec::k, "Columns of A, rows of B").range(1, 1 << 24);
  d.field("dtype", &GemmSpec::dtype, "Element type; fp32 runs on the vector units, others on the matrix units")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
}

Tile choose_tile(const GemmSpec& spec, const machine::GpuSpec& gpu) {
  constexpr std::array<Tile, 5> candidates{{{128, 128}, {128, 64}, {64, 64}, {64, 32}, {32, 32}}};
  for (const Tile& tile : candidates) {
    if (tiles_of(spec, tile) >= gpu.compute.total_cus()) return tile;
  }
  return candidates.back();
}

void append_gemm(builder::Builder& build, const GemmSpec& spec) { append_gemm(build, spec, "gemm"); }

void append_gemm(builder::Builder& build, const GemmSpec& spec, const std::string& name) {
  const Tile tile = choose_tile(spec, build.gpu());
  const std::int64_t tiles = tiles_of(spec, tile);
  const double size = builder::bytes_of(spec.dtype);
  const auto of = [](std::int64_t x) { return static_cast<double>(x); };
  program::PhaseShape shape;
  shape.name = "tile";
  shape.read = of(tile.m + tile.n) * of(spec.k) * size;
  // Every matrix comes from HBM once; the tiles of a row or column that share a panel find it in L2.
  shape.read_miss = std::min(1.0, (of(spec.m) + of(spec.n)) * of(spec.k) * size / (shape.read * of(tiles)));
  shape.write = of(tile.m) * of(tile.n) * size;
  shape.flop = 2 * of(tile.m) * of(tile.n) * of(spec.k);
  shape.unit =
      spec.dtype == builder::DataType::fp32 ? program::Arithmetic::vector_fp32 : program::Arithmetic::matrix_16bit;
  shape.power = shape.unit == program::Arithmetic::matrix_16bit ? 1 : 0;
  shape.in_flight = Bytes{of(tile.m + tile.n) * of(k_step * stages) * size};
  program::Kernel kernel;
  kernel.name = build.unique(name);
  kernel.resources = {threads, registers, shape.in_flight, 1};
  kernel.shapes.push_back(shape);
  kernel.body = std::make_shared<GemmBody>(tiles);
  build.queue.operations.emplace_back(std::move(kernel));
}

}  // namespace moire::models::kernel
