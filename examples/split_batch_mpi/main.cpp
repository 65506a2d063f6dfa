// split_batch between processes: each is one rank, makes its own part and writes its own file. What the proofs, the table and the
// pictures need of others goes to rank 0 over the communicator. The same files as split_batch with its virtual ranks.
// Not here: the data path; see split_batch/split.cpp.
#include "split_batch/options.hpp"
#include "split_batch/report.hpp"
#include "split_batch/split.hpp"
#include "support/bad_input.hpp"
#include "support/batch.hpp"
#include "support/output_folder.hpp"

#include <seqpar/exchange/errors.hpp>
#include <seqpar/exchange/mpi.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <stdexcept>

namespace {

namespace sp = seqpar;
using example::RankData;

// Each process's text, on all of them.
std::vector<std::string> texts(const sp::Mpi& comm, const std::string& mine) {
    const auto length = static_cast<std::int64_t>(mine.size());
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(comm.size()));
    auto sizes = comm.group();
    comm.all_gather(sizes, &length, lengths.data(), 1, sp::DataType::int64, {});
    sizes.close();
    std::vector<std::string> all;
    std::size_t total = 0;
    for (const std::int64_t n : lengths)
        total += static_cast<std::size_t>(n);
    std::string joined(total, ' ');
    auto characters = comm.group();
    comm.all_gather_v(characters, mine.data(), joined.data(), lengths, sp::DataType::bytes, {});
    characters.close();
    std::size_t at = 0;
    for (const std::int64_t n : lengths) {
        all.push_back(joined.substr(at, static_cast<std::size_t>(n)));
        at += static_cast<std::size_t>(n);
    }
    return all;
}

// What every process throws alike.
struct SaidByAll : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Runs work(), which calls no collective. If it throws anywhere, every process throws the same: the worst Error of the library, or
// else what the first process says that failed.
template <class Work>
void together(const sp::Mpi& comm, const Work& work) {
    sp::Status status;
    std::string failure;
    try {
        work();
    } catch (const sp::Error& error) {
        status = error.status();
    } catch (const std::exception& error) {
        failure = error.what();
    }
    sp::throw_together(comm, status);
    for (const std::string& said : texts(comm, failure)) {
        if (!said.empty()) throw SaidByAll(said);
    }
}

template <class Use>
void for_each_array(RankData& rank, const Use& use) {
    use(rank.position);
    use(rank.source);
    use(rank.input_ids);
    use(rank.labels);
    use(rank.position_ids);
    use(rank.bank);
    use(rank.row);
    use(rank.embeddings);
}

// What all ranks hold, on rank 0: first how much it is, then all arrays at once.
std::vector<RankData> gather(const sp::Mpi& comm, RankData mine) {
    std::vector<std::int64_t> header{mine.work};
    for_each_array(mine, [&](auto& array) { header.push_back(static_cast<std::int64_t>(array.size())); });
    std::vector<std::int64_t> headers(header.size() * static_cast<std::size_t>(comm.size()));
    auto sizes = comm.group();
    comm.all_gather(sizes, header.data(), headers.data(), static_cast<std::int64_t>(header.size()), sp::DataType::int64,
                    {});
    sizes.close();

    std::vector<RankData> all(static_cast<std::size_t>(comm.rank() == 0 ? comm.size() : 0));
    const auto type_of = [](const auto& array) {
        return sp::data_type_of<typename std::remove_reference_t<decltype(array)>::value_type>;
    };
    auto arrays = comm.group();
    if (comm.rank() != 0) {
        for_each_array(mine, [&](auto& array) {
            comm.send(arrays, array.data(), static_cast<std::int64_t>(array.size()), type_of(array), 0, {});
        });
    }
    const std::int64_t* next = headers.data() + header.size();  // rank 0's own part does not travel
    for (int r = 1; r < static_cast<int>(all.size()); ++r) {
        RankData& theirs = all[static_cast<std::size_t>(r)];
        theirs.work = *next++;
        for_each_array(theirs, [&](auto& array) {
            array.resize(static_cast<std::size_t>(*next));
            comm.recv(arrays, array.data(), *next++, type_of(array), r, {});
        });
    }
    arrays.close();
    if (comm.rank() == 0) all[0] = std::move(mine);
    return all;
}

void run(const sp::Mpi& comm, int argc, char** argv) {
    const int rank = comm.rank();
    example::Options options;
    example::Batch batch;
    RankData mine;
    example::Ownership owners;
    std::optional<example::OutputFolder> folder;  // rank 0's; the others write into it
    std::string fresh;
    together(comm, [&] {
        options = example::parse_options(argc, argv);
        if (options.cp * options.tp != comm.size()) {
            example::refuse("--cp and --tp", "", example::text(comm.size(), " ranks, one for each process"),
                            example::text(options.cp, " x ", options.tp));
        }
        batch = example::load_batch(options.input);
        mine = example::split_one(batch, options, rank);
        owners = example::ownership(batch, options);
    });
    together(comm, [&] {
        if (rank != 0) return;
        folder.emplace(options.out);
        fresh = folder->file(example::rank_file_name(0)).parent_path().string();
    });
    fresh = texts(comm, fresh).front();
    together(comm, [&] {
        example::write_rank_file(batch, options, owners.cu_seqlens, rank, mine,
                                 std::filesystem::path(fresh) / example::rank_file_name(rank));
    });
    std::vector<RankData> ranks = gather(comm, std::move(mine));
    together(comm, [&] {
        if (rank != 0) return;
        const example::SplitResult result = example::put_together(batch, options, std::move(ranks));
        example::Options plain = options;
        plain.kind = example::LayoutKind::contiguous;
        const example::Ownership contiguous = example::ownership(batch, plain);
        example::draw_ownership(batch, options, result, contiguous, *folder);
        example::write_photos(batch, result, *folder);
        folder->commit();
        example::print_table(batch, options, result, contiguous);
        std::printf("\nwritten: %s\n", folder->destination().c_str());
    });
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    std::atexit([] { MPI_Finalize(); });  // --help leaves the program as well
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {  // one process speaks for all
        std::cout.setstate(std::ios::failbit);
        std::cerr.setstate(std::ios::failbit);
    }
    try {
        const sp::Mpi comm(MPI_COMM_WORLD);
        run(comm, argc, argv);
        return 0;
    } catch (const seqpar::Error& error) {
        std::cerr << "split_batch_mpi: the layout does not fit the batch: " << error.what() << '\n';
    } catch (const SaidByAll& error) {
        std::cerr << "split_batch_mpi: " << error.what() << '\n';
    } catch (const std::exception& error) {
        std::cerr.clear();  // known to this one alone, for which the others would wait
        std::cerr << "split_batch_mpi: rank " << rank << ": " << error.what() << '\n';
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return 2;
}
