// Finds out which logical CPUs have a core to themselves at the moment. On a machine that is shared with others, and on
// a virtual one, a CPU may share its core with another busy CPU, which nothing but its speed shows. Calls of the driver
// then take up to 1.6 times as long.
#pragma once

#include <vector>

// Returns the time in us that the calling thread takes for a fixed number of instructions (some 10 us).
double loop_us();

// Binds the calling thread to a logical CPU. Ends the program if this is impossible.
void bind_to(int cpu);

// Returns the `count` CPUs that are fastest now, of those that this process may use. Binds the calling thread to each
// of them in turn. Ends the program if there are fewer.
std::vector<int> fastest_cpus(int count);
