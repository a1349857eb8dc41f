// A large simulation accesses its memory in random order, which is faster with transparent huge pages (THP). The
// allocator of the C library requests them only if an environment variable is set; jemalloc has an option that a
// program can set. docs/explanation/performance.md has run times with and without huge pages.

// jemalloc defines the name of this variable, and reads it before the first allocation.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
