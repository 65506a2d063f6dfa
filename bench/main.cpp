// The command line and the table. Everything that is not ours goes to Google Benchmark.
#include "harness.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

namespace {

const char* const help =
    R"(Times each operation of seqpar on one thread beside a plain memcpy of the bytes that it writes, one after the other in the
same run, and prints one table. ratio is memcpy over operation, of medians: 1 is as fast as memcpy.

  --json FILE           writes Google Benchmark's JSON as well; counters copy_ratio, median_ns, copy_ns, ns_per_token
  --filter REGEX        only benchmarks whose name matches (as --benchmark_filter)
  --ids S               tokens of the id stream (131072): ids, build_rows, index arrays
  --id-span N           placeholders in a row in it (200)
  --id-documents D,...  documents of the ids (1,64,1024,8192)
  --hidden B,S,H        token vectors, bf16, split along S (two: 1,16384,4096 and 4,4096,4096); may be given more than once
  --documents D,...     documents of the token vectors (1,64,1024)
  --ranks P             ranks (8; fewer where a document has not two tokens for each)
  --vision S,H,V        tokens, width and bank rows of VisionGather (16384,4096,8192)
  --span N              vision tokens in a row there (256)
  --walk S              tokens of the walks and of the short rows (1048576)
  --walk-documents D,...  documents of the walks (64,65536)
  --row-documents D,... documents of the short rows (1,64,1024,65536)
  --row-bytes N         bytes of a short row (512)
  --benchmark_...       what Google Benchmark knows, as --benchmark_min_time=1 or --benchmark_repetitions=5

Targets stand beside the sizes that the options default to.
)";

[[noreturn]] void wrong(const std::string& option, const std::string& text, const std::string& wanted) {
    std::ostringstream line;
    line << option << ' ' << text << ": wants " << wanted;
    throw std::invalid_argument(line.str());
}

std::vector<std::int64_t> numbers(const std::string& option, const std::string& text) {
    std::vector<std::int64_t> list;
    std::stringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        std::size_t read = 0;
        try {
            list.push_back(std::stoll(part, &read));
        } catch (const std::exception&) {
            read = 0;
        }
        if (read == 0 || read != part.size() || list.back() < 1) {
            wrong(option, text, "positive numbers, with commas between them");
        }
    }
    if (list.empty()) wrong(option, text, "a number");
    return list;
}
std::vector<std::int64_t> numbers(const std::string& option, const std::string& text, std::size_t count) {
    auto list = numbers(option, text);
    if (list.size() != count) wrong(option, text, bench::count(static_cast<std::int64_t>(count), "number"));
    return list;
}

// Takes our options out of `words`, which are what Google Benchmark gets.
bench::Sizes parse(std::vector<std::string>& words) {
    bench::Sizes sizes;
    bool own_hidden = false;
    std::vector<std::string> rest = {words[0], "--benchmark_min_time=0.25"};
    for (std::size_t i = 1; i < words.size(); ++i) {
        std::string option = words[i];
        if (option.rfind("--benchmark_", 0) == 0 || option.rfind("--v=", 0) == 0) {
            rest.push_back(option);
            continue;
        }
        std::string value;
        if (const auto equals = option.find('='); equals != std::string::npos) {
            value = option.substr(equals + 1);
            option.resize(equals);
        } else if (i + 1 < words.size()) {
            value = words[++i];
        } else {
            throw std::invalid_argument(option + ": no such option, or its value is missing (--help lists them)");
        }
        if (option == "--json") {
            rest.push_back("--benchmark_out=" + value);
            rest.push_back("--benchmark_out_format=json");
        } else if (option == "--filter") {
            rest.push_back("--benchmark_filter=" + value);
        } else if (option == "--ids") {
            sizes.ids = numbers(option, value, 1)[0];
        } else if (option == "--id-span") {
            sizes.id_span = numbers(option, value, 1)[0];
        } else if (option == "--id-documents") {
            sizes.id_documents = numbers(option, value);
        } else if (option == "--hidden") {
            if (!own_hidden) sizes.hidden.clear();
            own_hidden = true;
            sizes.hidden.push_back(numbers(option, value, 3));
        } else if (option == "--documents") {
            sizes.hidden_documents = numbers(option, value);
        } else if (option == "--ranks") {
            sizes.ranks = static_cast<int>(std::min<std::int64_t>(numbers(option, value, 1)[0], 1 << 20));
        } else if (option == "--vision") {
            const auto list = numbers(option, value, 3);
            sizes.vision_tokens = list[0];
            sizes.vision_width = list[1];
            sizes.bank_rows = list[2];
        } else if (option == "--span") {
            sizes.span = numbers(option, value, 1)[0];
        } else if (option == "--walk") {
            sizes.walk = numbers(option, value, 1)[0];
        } else if (option == "--walk-documents") {
            sizes.walk_documents = numbers(option, value);
        } else if (option == "--row-documents") {
            sizes.row_documents = numbers(option, value);
        } else if (option == "--row-bytes") {
            sizes.row_bytes = numbers(option, value, 1)[0];
        } else {
            throw std::invalid_argument(option + ": no such option (--help lists them)");
        }
    }
    words = rest;
    return sizes;
}

std::string fixed(double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}
std::string microseconds(double ns) { return fixed(ns / 1e3, ns < 1e5 ? 2 : ns < 1e6 ? 1 : 0); }

double counter(const benchmark::BenchmarkReporter::Run& run, const std::string& name) {
    const auto found = run.counters.find(name);
    return found == run.counters.end() ? 0 : found->second.value;
}

// One line a benchmark, printed as soon as it is known.
class Table : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context& context) override {
        PrintBasicContext(&std::cerr, context);
        return true;
    }
    void ReportRuns(const std::vector<Run>& runs) override {
        if (!headed_) print({"benchmark", "us", "memcpy us", "ratio", "ns each", "target", "sizes"});
        headed_ = true;
        for (const Run& run : runs) {
            const std::string name =
                run.run_name.function_name + (run.aggregate_name.empty() ? "" : " " + run.aggregate_name);
            if (run.error_occurred) {
                print({name, "", "", "", "", "", "error: " + run.error_message});
                failed_ = true;
                continue;
            }
            if (run.run_type == Run::RT_Aggregate && run.aggregate_unit == benchmark::StatisticUnit::kPercentage)
                continue;
            const double ratio = counter(run, "copy_ratio");
            const double copy = counter(run, "copy_ns");
            const double each = std::max(counter(run, "ns_per_token"), counter(run, "ns_per_run"));
            const bench::Target target = bench::targets()[run.run_name.function_name];
            std::string wanted;
            if (target.ratio > 0) wanted = ">= " + fixed(target.ratio, 2) + (ratio < target.ratio ? " !" : "");
            if (target.ns_each > 0)
                wanted = "<= " + fixed(target.ns_each, 0) + " ns" + (each > target.ns_each ? " !" : "");
            double& first = first_[name.substr(0, name.rfind("/documents:"))];
            if (first == 0) first = each;
            if (target.times_first > 0)
                wanted += " <= " + fixed(target.times_first, 0) + "x" + (each > target.times_first * first ? " !" : "");
            print({name, microseconds(counter(run, "median_ns")), copy > 0 ? microseconds(copy) : "-",
                   copy > 0 ? fixed(ratio, 3) : "-", fixed(each, each < 10 ? 3 : 1), wanted, run.report_label});
        }
    }

    bool failed() const { return failed_; }

private:
    static void print(const std::vector<std::string>& cells) {
        std::printf("%-48s %11s %11s %7s %9s  %-11s  %s\n", cells[0].c_str(), cells[1].c_str(), cells[2].c_str(),
                    cells[3].c_str(), cells[4].c_str(), cells[5].c_str(), cells[6].c_str());
        std::fflush(stdout);
    }
    std::map<std::string, double> first_;  // nanoseconds each, by name without documents
    bool headed_ = false;
    bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> words(argv, argv + argc);
    if (std::find(words.begin(), words.end(), "--help") != words.end()) {
        std::fputs(help, stdout);
        return 0;
    }
    const bench::Sizes sizes = parse(words);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words)
        arguments.push_back(word.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
    bench::add_moves(sizes);
    bench::add_vision(sizes);
    bench::add_rows(sizes);
    bench::add_indices(sizes);
    bench::add_walks(sizes);
    Table table;
    const bool ran = benchmark::RunSpecifiedBenchmarks(&table) > 0;
    return ran && !table.failed() ? 0 : 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "seqpar_bench: %s\n", error.what());
    return 2;
}
