// What the machine-code test reads and what the compile tests compile: every operation of a step, with all of its kernels.
#include "step.hpp"

std::vector<bench::Operation> operations_of_a_step() {
    return bench::operations(std::make_shared<bench::Step>(bench::StepSizes{}));
}
