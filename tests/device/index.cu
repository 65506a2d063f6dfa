// Index operations on the device: launches, the numbers of the host in arrays that end with their allocation, what is wrong with
// offsets, items and rows that lie there; and what a host can see, thrown before anything is launched.
#include "device/device.hpp"
#include "layout/random.hpp"

using namespace seqpar;
using test::DeviceArray;
using test::kernels_of;
using test::offsets_on;
using test::Random;

namespace {

using List = std::vector<std::int64_t>;
using Ints = std::vector<std::int32_t>;

// Scratch of just the size that is said, at the end of its allocation, and a Status of its own.
struct Device {
    test::Stream stream;
    DeviceArray<char> bytes;
    ScratchSpan scratch;
    DeviceArray<Status> status{1};

    explicit Device(std::int64_t size = 0) : bytes(size), scratch(bytes.data(), size) {}
    auto exec() { return reporting(thrust::cuda::par_nosync(scratch).on(stream), status.data()); }
    Status reported() const {
        stream.wait();
        return status.get()[0];
    }
};

// What op(exec, out) writes on the device in `launches` launches, in an array of `count`, is what it writes on the host.
template <class T, class Op>
void same_as_host(std::int64_t count, int launches, const Op& op, std::int64_t scratch = 0) {
    std::vector<T> host(static_cast<std::size_t>(count), -9);
    op(thrust::seq, host, false);
    Device device(scratch);
    const DeviceArray<T> out(count, -9);
    const auto run = [&] { op(device.exec(), out.tensor(count), true); };
    CHECK(kernels_of(device.stream, run) == (count > 0 ? launches : 0));
    run();
    CHECK(device.reported().ok());
    CHECK((out.get() == host));
}

// Offsets that lie where an exec reads them.
struct TwoOffsets {
    List host;
    DeviceArray<std::int64_t> device;
    explicit TwoOffsets(const List& cu) : host(cu), device(cu) {}
    Offsets<std::int64_t> on(bool of_device) const { return of_device ? offsets_on(device) : offsets(host); }
};

// make(on_device): the layout over offsets that lie here or there.
template <class Make>
void index_arrays(const Make& make) {
    const auto layout = make(false);
    for (int rank = 0; rank < layout.ranks(); ++rank) {
        const std::int64_t slots = layout.slots(rank);
        same_as_host<std::int32_t>(
            slots, 1, [&](const auto& exec, auto&& out, bool there) { positions(exec, make(there), rank, out); });
        same_as_host<std::int64_t>(
            slots, 1, [&](const auto& exec, auto&& out, bool there) { sources(exec, make(there), rank, out); });
        same_as_host<std::int32_t>(slots, 1, [&](const auto& exec, auto&& out, bool there) {
            circular_roll_index(exec, make(there), rank, 5, out);
        });
    }
    same_as_host<std::int32_t>(layout.size(), 1,
                               [&](const auto& exec, auto&& out, bool there) { gather_index(exec, make(there), out); });
    same_as_host<std::int32_t>(
        layout.source_size(), layout.size() > 0 ? 1 : 0,
        [&](const auto& exec, auto&& out, bool there) { restore_index(exec, make(there), out); });
}

}  // namespace

TEST_CASE("index arrays of a layout: one launch for all ranks, the numbers of the host") {
    Random random(41);
    for (const int ranks : {1, 2, 3}) {
        const TwoOffsets cu(test::random_offsets(random, 6 * ranks, 5, 3));
        const TwoOffsets real(test::random_real_offsets(random, cu.host));
        const std::int64_t total = cu.host.back();
        index_arrays([&](bool) { return UnevenContiguous{}(total + 1, ranks); });
        index_arrays([&](bool there) {
            return nested(
                padded(packed(ZigZag{}, cu.on(there), total, ranks), real.on(there), cu.on(there), real.host.back()),
                UnevenContiguous{}, 2);
        });
    }
    index_arrays([](bool) { return ZigZag{}(0, 2); });
    std::vector<std::int64_t> lists[] = {{4, 0, 1}, {}, {3, 2}};
    const RunTable table(lists, 5);
    const RunTableView here = table.view();
    const DeviceArray<Run> runs(std::vector<Run>(here.runs, here.runs + table.run_count()));
    const DeviceArray<std::int64_t> rank_runs(List(here.rank_runs, here.rank_runs + 4));
    const DeviceArray<std::int64_t> by_position(List(here.by_position, here.by_position + table.run_count()));
    index_arrays([&](bool there) {
        return there ? Permuted(table.view(runs.data(), rank_runs.data(), by_position.data())) : table.layout();
    });
}

TEST_CASE("operations over offsets: the numbers of the host, with a tail too") {
    Random random(42);
    for (int round = 0; round < 4; ++round) {
        const TwoOffsets cu(test::random_offsets(random, 4, 6, 3));
        const std::int64_t total = cu.host.back();
        const auto count = static_cast<std::int64_t>(cu.host.size());
        const auto layout = [&](bool there) { return packed(ZigZag{}, cu.on(there), total, 2); };
        for (const std::int64_t by : {-1, 3}) {
            same_as_host<std::int64_t>(total / 2, 1, [&](const auto& exec, auto&& out, bool there) {
                roll_index(exec, layout(there), 1, cu.on(there), by, out);
            });
        }
        same_as_host<std::int32_t>(
            count, 1, [&](const auto& exec, auto&& out, bool there) { local_offsets(exec, layout(there), out); });
        same_as_host<std::int32_t>(
            total, 1, [&](const auto& exec, auto&& out, bool there) { document_positions(exec, cu.on(there), out); });
        for (const Tail tail : {Tail::last_document, Tail::own_document, Tail::nobody}) {
            same_as_host<std::int64_t>(total + 5, 1, [&](const auto& exec, auto&& out, bool there) {
                document_positions(exec, cu.on(there), tail, out);
            });
            const std::int64_t more = tail == Tail::own_document ? 1 : 0;
            same_as_host<std::int64_t>(count + more, 1, [&](const auto& exec, auto&& out, bool there) {
                extended_offsets(exec, cu.on(there), total + 7, tail, out);
            });
            same_as_host<std::int64_t>(count + more, 1, [&](const auto& exec, auto&& out, bool there) {
                padded_offsets(exec, cu.on(there), 16, tail, out);
            });
        }
        same_as_host<std::int64_t>(
            count + 3, 1, [&](const auto& exec, auto&& out, bool there) { fixed_offsets(exec, cu.on(there), out); });
        same_as_host<std::int32_t>(
            count, 2, [&](const auto& exec, auto&& out, bool there) { padded_offsets(exec, cu.on(there), 7, out); },
            padded_offsets_scratch_bytes(count - 1));
        List two = cu.host;
        two.insert(two.end(), cu.host.begin(), cu.host.end());
        const TwoOffsets rows(two);
        same_as_host<std::int64_t>(2 * count - 1, 1, [&](const auto& exec, auto&& out, bool there) {
            merged_offsets(exec, tensor(rows.on(there).data(), 2, count), total, out);
        });
        const TwoOffsets labels(test::counted_from<std::int64_t>(2 * total, 100));
        const auto shifted = [&](std::int64_t by, auto ignore) {
            same_as_host<std::int64_t>(2 * total, 1, [&](const auto& exec, auto&& out, bool there) {
                shift_labels(exec, tensor(labels.on(there).data(), 2, total), cu.on(there), by, ignore,
                             tensor(view(out).data_handle(), 2, total));
            });
        };
        shifted(1, -100);
        shifted(-2, DocumentEnd::wrap);
        shifted(1, DocumentEnd::repeat);
    }
}

TEST_CASE("expand_rows: two launches, the stream of the host; other counts and lengths are reported and stay inside") {
    const List ids{7, -5, 8, -6, -5, 9, -6};
    const auto rules = placeholders({{-5, 0}, {-6, 1}}).base({10, 0});
    const TwoOffsets tokens(ids), items(List{0, 2, 5});
    const auto info = [&](bool there) { return std::vector<BankInfo>{{5, items.on(there), false}, {2}}; };
    const auto run = [&](const auto& exec, auto&& out, bool there, std::int64_t length) {
        // Ids, rows and sources in one array, to be compared at once.
        auto* const to = view(out).data_handle();
        DeviceArray<std::int32_t> rows(length), banks(length);
        Ints host_rows(static_cast<std::size_t>(length)), host_banks(host_rows);
        expand_rows(exec, tensor(tokens.on(there).data(), std::int64_t{7}), rules, info(there), tensor(to, length),
                    tensor(there ? rows.data() : host_rows.data(), length),
                    tensor(there ? banks.data() : host_banks.data(), length), tensor(to + length, length));
    };
    Device device(build_rows_scratch_bytes(7, 2));
    List host(20, -9);
    run(thrust::seq, host, false, 10);
    DeviceArray<std::int64_t> out(20, -9);
    {
        const std::vector<BankInfo> of{{5, items.on(true), false}, {2}};
        DeviceArray<std::int32_t> rows(10), banks(10);
        const auto expand = [&] {
            expand_rows(device.exec(), tensor(tokens.on(true).data(), std::int64_t{7}), rules, of, out.tensor(10),
                        rows.tensor(10), banks.tensor(10));
        };
        CHECK(kernels_of(device.stream, expand) == 2);
    }
    run(device.exec(), out.tensor(20), true, 10);
    CHECK(device.reported().ok());
    CHECK((out.get() == host));
    for (const std::int64_t length : {0, 3, 9, 12}) {
        Device other(build_rows_scratch_bytes(7, 2));
        DeviceArray<std::int64_t> few(2 * length, -9);
        run(other.exec(), few.tensor(2 * length), true, length);
        CHECK(other.reported() == make_status(Kind::extent, 1, 0, 10, length));
    }
    // Where documents lie in it: two launches too.
    const TwoOffsets cu(List{0, 0, 3, 4, 7, 7}), wrong_cu(List{0, 4, 3, 7}), nothing(List{0, 0});
    List host_places(6), places_of_none(2, -9);
    expanded_offsets(thrust::seq, ids, rules, info(false), cu.on(false), host_places);
    DeviceArray<std::int64_t> places(6, -9);
    Device again(build_rows_scratch_bytes(7, 2));
    const auto of_device = info(true);
    const auto stream = tensor(tokens.on(true).data(), std::int64_t{7});
    const auto find = [&] { expanded_offsets(again.exec(), stream, rules, of_device, cu.on(true), places.tensor(6)); };
    CHECK(kernels_of(again.stream, find) == 2);
    find();
    CHECK(again.reported().ok());
    CHECK((places.get() == host_places));
    CHECK((host_places == List{0, 0, 4, 5, 10, 10}));
    const std::vector<BankInfo> of_none{{0, Offsets<std::int64_t>(nothing.device.data(), 1)}};
    expanded_offsets(again.exec(), tensor(tokens.on(true).data(), 0), rules, of_none, nothing.on(true),
                     places.tensor(2));
    CHECK(again.reported().ok());
    CHECK((places.get() == List{0, 0, 4, 5, 10, 10}));
    expanded_offsets(again.exec(), stream, rules, of_device, wrong_cu.on(true), places.tensor(4));
    CHECK(again.reported() == make_status(Kind::offsets_order, 0, 1, 4, 3));
    const TwoOffsets fewer(List{0, 2}), broken(List{0, INT64_MAX, 2});
    for (const auto* of : {&fewer, &broken}) {
        Device other(build_rows_scratch_bytes(7, 2));
        DeviceArray<std::int32_t> rows(7), banks(7);
        const std::vector<BankInfo> wrong{{2, of->on(true), false}, {2}};
        expand_rows(other.exec(), tensor(tokens.device.data(), std::int64_t{7}), rules, wrong, out.tensor(7),
                    rows.tensor(7), banks.tensor(7));
        CHECK(other.reported().kind() == (of == &fewer ? Kind::row_count : Kind::offsets_order));
    }
}

TEST_CASE("illegal offsets: their kind is reported, and no access leaves an array") {
    const std::int64_t most = INT64_MAX;
    for (const List& list : {List{0, 16, 8, 24}, List{0, most, 24}, List{0, -most, 24}, List{most, most, most},
                             List{-5, -4, -3, -2}, List{24, 16, 8, 0}, List{0, 1, 2, 3, 4, 24}, List{0, 8, 23}}) {
        const TwoOffsets cu(list);
        const auto count = cu.device.count();
        const auto layout = packed(ZigZag{}, cu.on(true), 24, 2);
        const auto with_pads = padded(layout, cu.on(true), cu.on(true), 24);
        const auto bad = [&](auto op) {
            Device device(padded_offsets_scratch_bytes(count));
            op(device.exec());
            CHECK_FALSE(device.reported().ok());
        };
        const DeviceArray<std::int64_t> in(24), out(24), slots(12), offsets_out(count), longer(count + 1);
        bad([&](const auto& exec) { sources(exec, with_pads, 1, slots.tensor(12)); });
        bad([&](const auto& exec) { gather_index(exec, with_pads, out.tensor(24)); });
        if (list[0] < 0 || list[0] == most)  // else two slots may name one entry, which is a race
            bad([&](const auto& exec) { restore_index(exec, with_pads, out.tensor(24)); });
        bad([&](const auto& exec) { roll_index(exec, layout, 0, cu.on(true), -1, slots.tensor(12)); });
        bad([&](const auto& exec) { local_offsets(exec, layout, offsets_out.tensor(count)); });
        if (check(offsets(list), 24).ok()) continue;
        bad([&](const auto& exec) { document_positions(exec, cu.on(true), out.tensor(24)); });
        for (const std::int64_t by : {-3, 1}) {
            bad([&](const auto& exec) { shift_labels(exec, in.tensor(24), cu.on(true), by, -100, out.tensor(24)); });
            bad([&](const auto& exec) {
                shift_labels(exec, in.tensor(24), cu.on(true), by, DocumentEnd::wrap, out.tensor(24));
            });
        }
        bad([&](const auto& exec) {
            merged_offsets(exec, tensor(cu.device.data(), std::int64_t{1}, count), 24, offsets_out.tensor(count));
        });
        if (check(offsets(list), list.back()).ok()) continue;  // as a tail they are legal
        bad([&](const auto& exec) { document_positions(exec, cu.on(true), Tail::last_document, out.tensor(24)); });
        bad([&](const auto& exec) { padded_offsets(exec, cu.on(true), 4, offsets_out.tensor(count)); });
        bad([&](const auto& exec) { padded_offsets(exec, cu.on(true), 4, Tail::nobody, offsets_out.tensor(count)); });
        bad([&](const auto& exec) {
            extended_offsets(exec, cu.on(true), 24, Tail::own_document, longer.tensor(count + 1));
        });
        bad([&](const auto& exec) { fixed_offsets(exec, cu.on(true), longer.tensor(count + 1)); });
    }
    // Numbers that int32 does not hold.
    const TwoOffsets far(List{0, 5, std::int64_t{1} << 31});
    const DeviceArray<std::int32_t> narrow(3);
    Device device(padded_offsets_scratch_bytes(2));
    padded_offsets(device.exec(), far.on(true), 2, narrow.tensor(3));
    CHECK(device.reported() == make_status(Kind::value_lost, 0, 1, INT32_MAX, (std::int64_t{1} << 31) + 2));
    Device other;
    fixed_offsets(other.exec(), far.on(true), narrow.tensor(3));
    CHECK(other.reported().kind() == Kind::value_lost);
}

TEST_CASE("what a host can see is thrown as on a host, before anything is launched") {
    const TwoOffsets cu(List{0, 8, 16}), none(List{});
    const auto layout = [&](bool there) { return packed(ZigZag{}, cu.on(there), 16, 2); };
    const DeviceArray<std::int64_t> out(16);
    const auto refused = [&](Kind kind, auto op) {
        List host(16);
        Device device;
        const Status status = status_of([&] { op(thrust::seq, tensor(host.data(), std::int64_t{16}), false); });
        CHECK(status.kind() == kind);
        const auto on_device = [&] { CHECK(status_of([&] { op(device.exec(), out.tensor(16), true); }) == status); };
        CHECK(kernels_of(device.stream, on_device) == 0);
    };
    refused(Kind::rank, [&](const auto& exec, auto to, bool there) { positions(exec, layout(there), 2, to); });
    refused(Kind::axis_extent, [&](const auto& exec, auto to, bool there) { sources(exec, layout(there), 0, to); });
    refused(Kind::offsets_count, [&](const auto& exec, auto to, bool there) {
        gather_index(exec, packed(ZigZag{}, none.on(there), 16, 2), to);
    });
    refused(Kind::overlap, [&](const auto& exec, auto to, bool there) {
        restore_index(exec, layout(there), tensor(view(to).data_handle(), {16}, {0}));
    });
    refused(Kind::overlap, [&](const auto& exec, auto to, bool) {
        const Offsets<std::int64_t> own(view(to).data_handle(), 16);
        document_positions(exec, own, Tail::nobody, to);
    });
    refused(Kind::extent, [&](const auto& exec, auto to, bool there) {
        shift_labels(exec, tensor(cu.on(there).data(), std::int64_t{3}), 1, -100, to);
    });
    // Of no token nothing is launched that could tell.
    const auto of_no_token = [&](const List& items) {
        return [items](const auto& exec, auto to, bool) {
            const std::vector<BankInfo> info{
                {0, Offsets<std::int64_t>(items.data(), static_cast<std::int64_t>(items.size()))}};
            auto* const data = view(to).data_handle();
            expand_rows(exec, tensor(data, 0), placeholders({{-5, 0}}), info, tensor(data, 3),
                        tensor(reinterpret_cast<std::int32_t*>(data + 8), 3));
        };
    };
    refused(Kind::extent, of_no_token({0}));
    refused(Kind::row_count, of_no_token({0, 2}));
    refused(Kind::value_lost, [&](const auto& exec, auto to, bool) {
        positions(exec, Contiguous{}(std::int64_t{1} << 33, 1 << 29), 0,
                  tensor(reinterpret_cast<std::int32_t*>(view(to).data_handle()), std::int64_t{16}));
    });
}

TEST_CASE("check_rows: three launches, the Status of the host whatever is wrong") {
    Random random(43);
    int bad = 0;
    for (int round = 0; round < 150; ++round) {
        // Two banks of items, and a mistake or two.
        Ints rows, banks;
        List items[2] = {{0}, {0}}, cu{0}, real{0};
        std::int32_t next[2] = {0, 0};
        while (rows.size() < 30) {
            const auto bank = static_cast<std::int32_t>(random.between(0, 1));
            for (std::int64_t n = random.between(1, 4); n > 0; --n) {
                rows.push_back(next[bank]++);
                banks.push_back(bank);
            }
            items[bank].push_back(next[bank]);
            rows.push_back(-1);
            banks.push_back(-1);
            cu.push_back(static_cast<std::int64_t>(rows.size()));
            real.push_back(real.back() + cu.back() - cu[cu.size() - 2] - random.between(0, 1));
        }
        const auto any = [&](auto& list) -> auto& {
            return list[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(list.size()) - 1))];
        };
        for (std::int64_t mistakes = random.between(0, 2); mistakes > 0; --mistakes) {
            switch (random.between(0, 6)) {
                case 0: any(rows) = static_cast<std::int32_t>(random.between(-2, 12)); break;
                case 1: any(banks) = static_cast<std::int32_t>(random.between(-1, 2)); break;
                case 2: any(items[0]) += random.between(-2, 2); break;
                case 3: any(cu) += random.between(-3, 3); break;
                case 4: any(real) += random.between(-1, 3); break;
                case 5: any(rows) = any(rows); break;
                default: items[1].push_back(items[1].back() + 1);
            }
        }
        std::vector<std::uint8_t> valid(rows.size(), 1);
        if (random.once_in(4)) any(valid) = 0;
        const bool surplus = random.once_in(3);
        const TwoOffsets a(items[0]), b(items[1]), documents(cu), without_pads(real);
        const auto info = [&](bool there) {
            return std::vector<BankInfo>{{next[0], a.on(there), surplus}, {items[1].back(), b.on(there), surplus}};
        };
        const Status host = check_rows(rows, banks, info(false), valid, documents.host, without_pads.host);
        const DeviceArray<std::int32_t> d_rows(rows), d_banks(banks);
        const DeviceArray<std::uint8_t> d_valid(valid);
        const auto count = static_cast<std::int64_t>(rows.size());
        Device device(check_rows_scratch_bytes(next[0] + items[1].back()));
        const auto run = [&] {
            check_rows(device.exec(), d_rows.tensor(count), d_banks.tensor(count), info(true), d_valid.tensor(count),
                       documents.on(true), without_pads.on(true));
        };
        if (round == 0) CHECK(kernels_of(device.stream, run) == 3);
        run();
        CAPTURE(describe(host));
        CAPTURE(describe(device.reported()));
        CHECK(device.reported() == host);
        CHECK(status_of([&] {
                  check_rows(thrust::seq, rows, banks, info(false), valid, documents.host, without_pads.host);
              }) == host);
        bad += host.ok() ? 0 : 1;
    }
    CHECK(bad > 50);
    CHECK(bad < 150);
    // No token at all; one placeholder too many, without items.
    for (const Ints& rows : {Ints{}, Ints{-1, 0, 1, 1, -1}}) {
        const BankInfo info{2};
        const auto count = static_cast<std::int64_t>(rows.size());
        const DeviceArray<std::int32_t> d_rows(rows);
        Device device(check_rows_scratch_bytes(2));
        check_rows(device.exec(), d_rows.tensor(count), no_array, std::span(&info, 1));
        CHECK(device.reported() == check_rows(rows, no_array, std::span(&info, 1)));
    }
}
