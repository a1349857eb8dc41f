// All of sim/config for those who read configuration: load a file, parse it into a spec.
#pragma once

#include "sim/config/catalogue.hpp"
#include "sim/config/load.hpp"
#include "sim/config/override.hpp"
#include "sim/config/spec.hpp"
