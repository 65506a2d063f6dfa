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
