// split_batch: the main job. Reads a real multimodal batch, splits it over virtual ranks, proves that nothing was lost and writes
// what each rank holds, with a table and pictures. Exit code 2 and one line on standard error for anything that cannot be done.
#include "options.hpp"
#include "report.hpp"
#include "split.hpp"
#include "support/bad_input.hpp"
#include "support/batch.hpp"
#include "support/output_folder.hpp"

#include <seqpar/layout/status.hpp>

#include <cstdio>
#include <iostream>

namespace {

void run(const example::Options& options) {
    const example::Batch batch = example::load_batch(options.input);
    const example::SplitResult result = example::split(batch, options);
    example::Options plain = options;
    plain.kind = example::LayoutKind::contiguous;
    const example::Ownership contiguous = example::ownership(batch, plain);

    example::OutputFolder folder(options.out);
    example::write_rank_files(batch, options, result, folder);
    example::draw_ownership(batch, options, result, contiguous, folder);
    example::write_photos(batch, result, folder);
    folder.commit();
    example::print_table(batch, options, result, contiguous);
    std::printf("\nwritten: %s\n", folder.destination().c_str());
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(example::parse_options(argc, argv));
        return 0;
    } catch (const seqpar::Error& error) {
        std::cerr << "split_batch: the layout does not fit the batch: " << error.what() << '\n';
    } catch (const std::exception& error) {
        std::cerr << "split_batch: " << error.what() << '\n';
    }
    return 2;
}
