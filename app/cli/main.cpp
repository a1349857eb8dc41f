#include "app/cli/commands.hpp"

int main(int argc, char** argv) { return moire::cli::run_command_line(argc, argv); }
