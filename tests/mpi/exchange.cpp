// Exchanges between processes: relayouts there and back, and the rows of a bank.
#include "exchange/jobs.hpp"
#include "mpi/world.hpp"

using namespace test;

TEST_CASE("relayouts between processes are the shards, there and back") {
    const sp::Mpi comm(MPI_COMM_WORLD, time_limit);
    const List cu{0, 48, 48, 144, 192};
    const auto zigzag = sp::packed(sp::ZigZag{}, cu, 192, comm.size());
    there_and_back<double>(comm, zigzag, sp::Contiguous{}(192, comm.size()), sp::axis<1>);
    there_and_back<std::int16_t>(comm, sp::UnevenContiguous{}(192, 1), zigzag, sp::axis<0>);  // from one rank to all
    there_and_back<std::int64_t>(comm, sp::ZigZag{}(192, comm.size()), sp::Striped{2}(192, comm.size()), sp::axis<-1>);
}

TEST_CASE("owned rows between processes equal the gathered bank, forward and backward") {
    const sp::Mpi comm(MPI_COMM_WORLD, time_limit);
    owned_rows_equal_the_gathered_bank(thrust::seq, comm);
}

// With a sanitizer this fails where the buffers are freed.
TEST_CASE(
    "an exchange that is not answered in time leaves its buffers to MPI, which writes them when the answer comes") {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::chrono::milliseconds limit = rank == 0 ? time_limit : std::chrono::milliseconds(100);
    const sp::Mpi comm(MPI_COMM_WORLD, limit);
    const std::int64_t rows = std::int64_t{10} * comm.size();
    std::vector<double> in(static_cast<std::size_t>(rank == 0 ? rows : 0), 5);
    std::vector<double> out(10);
    const sp::ExchangePlan plan = sp::relayout(sp::Contiguous{}(rows, 1), sp::Contiguous{}(rows, comm.size()), rank);
    if (rank == 0) MPI_Barrier(MPI_COMM_WORLD);  // comes when the others have gone
    std::string text;
    try {
        sp::exchange(thrust::seq, comm, plan, in, sp::axis<0>, out);
    } catch (const sp::CommunicationError& error) {
        text = error.what();
    }
    if (rank != 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(text.empty() == (rank == 0));
    CHECK(out == std::vector<double>(10, rank == 0 ? 5 : 0));
}
