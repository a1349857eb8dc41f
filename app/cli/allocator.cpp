// Large simulations read their memory at random, which huge pages make faster: a study of 2 GB takes about a third less
// time. jemalloc asks for them, which the allocator of the C library only does if its environment says so.

// The name is jemalloc's, which reads the variable before the first allocation.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
