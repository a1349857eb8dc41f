// A large simulation accesses its memory in random order, which is faster with transparent huge pages (THP). The
// allocator of the C library requests such pages only if an environment variable is set. jemalloc has an option that a
// program can set, so Moire uses jemalloc. docs/explanation/performance.md has run times with and without huge pages.

// jemalloc reads the variable of this name before the first allocation.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
