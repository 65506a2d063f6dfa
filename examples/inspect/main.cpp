// Answers requests about layouts, one JSON object a line on standard input, with one line each on standard output; README.md
// shows some. Not here: the answers; see answer.hpp.
#include "answer.hpp"

#include <iostream>
#include <string>

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        // Each at once: a program may wait for its answer before it asks on.
        std::cout << inspect::answer_line(line) << '\n' << std::flush;
        if (!std::cout) return 1;
    }
    return 0;
}
