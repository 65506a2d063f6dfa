// Virtual ranks in threads, and what became of each.
#pragma once

#include <seqpar/exchange/in_process.hpp>

#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace test {

// Calls f(comm) in a thread for each rank of `group`, and gives what each threw.
template <class F>
std::vector<std::exception_ptr> run_ranks(const seqpar::VirtualRanks& group, int ranks, const F& f) {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    threads.reserve(thrown.size());
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                const seqpar::VirtualRank comm = group.join(rank);
                f(comm);
            } catch (...) {
                thrown[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return thrown;
}

// What an exception says, if it is a T.
template <class T>
std::string text_of(const std::exception_ptr& thrown) {
    if (!thrown) return "";
    try {
        std::rethrow_exception(thrown);
    } catch (const T& error) {
        return error.what();
    } catch (...) {
        return "another exception";
    }
}

}  // namespace test
