// Large simulations read their memory at random, which is faster on huge pages. The allocator of the C library asks for
// them only if an environment variable tells it to; jemalloc has an option. docs/explanation/performance.md compares.

// The name is jemalloc's, which reads the variable before the first allocation.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
