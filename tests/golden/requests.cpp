// Requests that no golden file holds, through the code of examples/inspect: params that are obeyed, inconsistent ones, wrong
// types, numbers of any size, lines that are no JSON. Every answer is one line, and none ends the program.
#include "cases.hpp"

#include "inspect/answer.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include <unistd.h>

using golden::json;

namespace {

// Asks with single quotes for double ones.
json ask(std::string line) {
    std::replace(line.begin(), line.end(), '\'', '"');
    const std::string answer = inspect::answer_line(line);
    CHECK(answer.find('\n') == std::string::npos);
    return json::parse(answer);
}

std::string kind_of(const json& answer) {
    return answer.contains("error") ? answer["error"].at("kind").get<std::string>() : "none";
}
std::string error_of(const std::string& line) {
    CAPTURE(line);
    const json answer = ask(line);
    CAPTURE(answer.dump());
    if (answer.contains("error")) CHECK(!answer["error"].at("message").get<std::string>().empty());
    return kind_of(answer);
}

json shards(const std::string& line) {
    CAPTURE(line);
    const json answer = ask(line);
    CAPTURE(answer.dump());
    REQUIRE(answer.contains("shards"));
    return answer["shards"];
}

// A request of kind layout: `rest` is what follows.
std::string of(const std::string& rest) { return "{'kind':'layout'," + rest + "}"; }

}  // namespace

TEST_CASE("the request of the documentation") {
    const json answer = ask(of("'layout':'B','ranks':2,'length':12,'cu_seqlens':[0,8,12],'params':{}"));
    CHECK(answer == json::parse(R"({"shards":[[0,1,6,7,8,11],[2,3,4,5,9,10]],"restore":[0,1,6,7,8,9,2,3,4,10,11,5]})"));
}

TEST_CASE("params that change the list are obeyed") {
    CHECK(shards(of("'layout':'E','ranks':2,'length':12,'params':{'stripe':3}")) ==
          json::parse("[[0,1,2,6,7,8],[3,4,5,9,10,11]]"));
    CHECK(shards(of("'layout':'E','ranks':2,'length':4")) == json::parse("[[0,2],[1,3]]"));
    CHECK(shards(of("'layout':'F','ranks':4,'length':6,'params':{'uneven':true}")) ==
          json::parse("[[0,1],[2,3],[4],[5]]"));
    CHECK(shards(of("'layout':'H','ranks':4,'length':16,'params':{'ring':2,'ulysses':2}")) ==
          json::parse("[[0,1,2,3],[12,13,14,15],[4,5,6,7],[8,9,10,11]]"));
    CHECK(shards(of("'layout':'H','ranks':4,'length':16,'cu_seqlens':[0,8,16],'params':{'ring':2,'ulysses':2}")) ==
          json::parse("[[0,1,6,7],[8,9,14,15],[2,3,4,5],[10,11,12,13]]"));
    CHECK(shards(of("'layout':'I','ranks':4,'length':16,'params':{'ring':2,'ulysses':2}")) ==
          json::parse("[[0,2,4,6],[8,10,12,14],[1,3,5,7],[9,11,13,15]]"));
    CHECK(shards(of("'layout':'B+M','ranks':4,'length':12,'cu_seqlens':[0,8,12],'params':{'cp':2,'tp':2}")) ==
          json::parse("[[0,1,6],[7,8,11],[2,3,4],[5,9,10]]"));
    CHECK(shards(of("'layout':'F+M','ranks':4,'length':8,'params':{'tp':2}")) ==
          json::parse("[[0,1],[2,3],[4,5],[6,7]]"));
    CHECK(shards(of("'layout':'H+M','ranks':8,'length':16,'params':{'ring':2,'ulysses':2,'tp':2}")) ==
          json::parse("[[0,1],[2,3],[12,13],[14,15],[4,5],[6,7],[8,9],[10,11]]"));
    CHECK(shards(of("'layout':'I','ranks':4,'length':8,'params':{'ring':2}")) ==
          json::parse("[[0,2],[4,6],[1,3],[5,7]]"));
}

TEST_CASE("pads show as -1, and restore stays one of padded positions") {
    const json answer = ask(of("'layout':'A','ranks':2,'length':8,'real_length':7,'params':{'axis':-1,'shape':[3,7]}"));
    CHECK(answer == json::parse(R"({"shards":[[0,1,6,-1],[2,3,4,5]],"restore":[0,1,4,5,6,7,2,3]})"));
    CHECK(shards(of("'layout':'A+M','ranks':4,'length':8,'real_length':0,'params':{'tp':2}")) ==
          json::parse("[[-1,-1],[-1,-1],[-1,-1],[-1,-1]]"));
}

TEST_CASE("params that only describe the peer change nothing") {
    const std::string plain = of("'layout':'B','ranks':2,'length':12,'cu_seqlens':[0,8,12]");
    CHECK(
        shards(of(
            "'layout':'B','ranks':2,'length':12,'cu_seqlens':[0,8,12],'params':{'tp':3,'pad_multiple':8,'pad_scale':4,"
            "'key':'labels','row':1,'caller_buffer_after':[3],'cu_seqlens_real':[0,7,10],'cp':2,'stripe':1,"
            "'uneven':false}")) == shards(plain));
    CHECK(shards(of("'layout':'B','ranks':2,'length':12,'cu_seqlens':[0,8,12],'params':null,'real_length':null")) ==
          shards(plain));
}

TEST_CASE("a param or key that nobody knows is an error, not ignored") {
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'strip':1}")) == "unknown_param");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'local_cp_size':2}")) == "unknown_param");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'real_lenght':7")) == "unknown_key");
}

TEST_CASE("a param that the layout has no use for is an error") {
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'stripe':2}")) == "param");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'uneven':true}")) == "param");
    CHECK(error_of(of("'layout':'A','ranks':4,'length':8,'params':{'ring':2,'ulysses':2}")) == "param");
    CHECK(error_of(of("'layout':'I','ranks':4,'length':16,'params':{'ring':2,'ulysses':2,'stripe':2}")) == "param");
}

TEST_CASE("ranks are the product of their parts") {
    CHECK(error_of(of("'layout':'H','ranks':4,'length':16,'params':{'ring':2,'ulysses':3}")) == "group");
    CHECK(error_of(of("'layout':'H','ranks':4,'length':16")) == "missing");
    CHECK(error_of(of("'layout':'H','ranks':4,'length':24,'params':{'ring':3}")) == "group");
    CHECK(error_of(of("'layout':'A+M','ranks':4,'length':16,'params':{'cp':2,'tp':3}")) == "group");
    CHECK(error_of(of("'layout':'A+M','ranks':4,'length':16")) == "missing");
    CHECK(error_of(of("'layout':'A','ranks':4,'length':16,'params':{'cp':2}")) == "group");
    CHECK(error_of(of("'layout':'F','ranks':4,'length':16,'params':{'ring':2,'ulysses':4}")) == "group");
    CHECK(error_of(of("'layout':'A+M','ranks':4,'length':16,'params':{'cp':0,'tp':2}")) == "ranks");
}

TEST_CASE("the array's axis has the length of the sequence") {
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':1,'shape':[8,2]}")) == "axis_extent");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'real_length':7,'params':{'axis':0,'shape':[8]}")) ==
          "axis_extent");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':2,'shape':[2,8]}")) == "axis");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':-3,'shape':[2,8]}")) == "axis");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':-9223372036854775808,'shape':[2,8]}")) ==
          "axis");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'shape':[2,8]}")) == "missing");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':0,'shape':[]}")) == "axis");
    CHECK(shards(of("'layout':'A','ranks':2,'length':8,'params':{'axis':-1,'shape':[2,8]}")) ==
          json::parse("[[0,1,6,7],[2,3,4,5]]"));
}

TEST_CASE("offsets are checked where a layout uses them and where it does not") {
    CHECK(error_of(of("'layout':'B','ranks':2,'length':12")) == "missing");
    CHECK(error_of(of("'layout':'G','ranks':2,'length':12,'cu_seqlens':null")) == "missing");
    CHECK(error_of(of("'layout':'B','ranks':2,'length':12,'cu_seqlens':[]")) == "offsets_count");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':12,'cu_seqlens':[0,8,4,12]")) == "offsets_order");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':12,'cu_seqlens':[1,12]")) == "offsets_first");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':12,'cu_seqlens':[0,8]")) == "offsets_total");
    CHECK(error_of(of("'layout':'F','ranks':2,'length':12,'cu_seqlens':[0,16]")) == "offsets_total");
    CHECK(error_of(of("'layout':'F','ranks':2,'length':12,'cu_seqlens':[0,-4]")) == "offsets_order");
    CHECK(error_of(of("'layout':'F','ranks':2,'length':12,'cu_seqlens':[]")) == "offsets_count");
    CHECK(error_of(of("'layout':'H','ranks':2,'length':12,'cu_seqlens':[0,8],'params':{'ring':2,'ulysses':1}")) ==
          "offsets_total");
    CHECK(shards(of("'layout':'F','ranks':2,'length':4,'cu_seqlens':[0,3]")) == json::parse("[[0,1],[2,3]]"));
    CHECK(shards(of("'layout':'A','ranks':2,'length':4,'cu_seqlens':[0,1,4]")) == json::parse("[[0,3],[1,2]]"));
    CHECK(error_of(of("'layout':'B','ranks':2,'length':12,'cu_seqlens':[0,9223372036854775807]")) == "offsets_total");
}

TEST_CASE("lengths and ranks of any size are answered") {
    CHECK(error_of(of("'layout':'A','ranks':0,'length':8")) == "ranks");
    CHECK(error_of(of("'layout':'A','ranks':-1,'length':8")) == "ranks");
    CHECK(error_of(of("'layout':'A','ranks':-9223372036854775808,'length':8")) == "ranks");
    CHECK(error_of(of("'layout':'A','ranks':4294967298,'length':8")) == "too_large");  // 2 in 32 bits
    CHECK(error_of(of("'layout':'A','ranks':2147483647,'length':0")) == "too_large");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':-8")) == "length");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':4611686018427387904")) == "too_large");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':18446744073709551615")) == "too_large");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':99999999999999999999999")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':1e400")) == "malformed");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'real_length':9")) == "offsets_real");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'real_length':-1")) == "length");
    CHECK(error_of(of("'layout':'E','ranks':2,'length':8,'params':{'stripe':9223372036854775807}")) == "multiple");
    CHECK(error_of(of("'layout':'E','ranks':2,'length':8,'params':{'stripe':0}")) == "policy");
    CHECK(shards(of("'layout':'A','ranks':3,'length':0")) == json::parse("[[],[],[]]"));
}

TEST_CASE("wrong types are named") {
    CHECK(error_of(of("'layout':'A','ranks':2.0,'length':8")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':'2','length':8")) == "type");
    CHECK(error_of(of("'layout':7,'ranks':2,'length':8")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':[8]")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':true")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':[]")) == "type");
    CHECK(error_of(of("'layout':'F','ranks':2,'length':8,'params':{'uneven':1}")) == "type");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'shape':8,'axis':0}")) == "type");
    CHECK(error_of(of("'layout':'B','ranks':2,'length':8,'cu_seqlens':[0,8.5]")) == "type");
    CHECK(error_of(of("'layout':'B','ranks':2,'length':8,'cu_seqlens':{'0':8}")) == "type");
    CHECK(error_of(of("'ranks':2,'length':8")) == "missing");
    CHECK(error_of(of("'layout':'A','length':8")) == "missing");
    CHECK(error_of(of("'layout':'A','ranks':2")) == "missing");
    CHECK(error_of("{}") == "missing");
    CHECK(error_of("{'kind':3}") == "type");
}

TEST_CASE("what is not served says so") {
    for (const char* layout : {"", "+M", "a", "A+", "A+M+M", "Z", "AB"}) {
        CAPTURE(layout);
        CHECK(error_of(of("'layout':'" + std::string(layout) + "','ranks':2,'length':8,'params':{'tp':1}")) ==
              "unsupported");
    }
    CHECK(error_of("{'kind':'layouts'}") == "unsupported");
    CHECK(error_of("{'kind':''}") == "unsupported");
}

TEST_CASE("lines that are no request are answered") {
    CHECK(error_of("") == "malformed");
    CHECK(error_of("   ") == "malformed");
    CHECK(error_of("null") == "malformed");
    CHECK(error_of("[]") == "malformed");
    CHECK(error_of("3") == "malformed");
    CHECK(error_of("{'kind':'layout'") == "malformed");
    CHECK(error_of("{'kind':'layout'} {}") == "malformed");
    CHECK(error_of("{'kind':NaN}") == "malformed");
    CHECK(error_of("{'length':Infinity}") == "malformed");
    CHECK(error_of("{'kind':'layout','kind':'layout'}") == "malformed");
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8,'params':{'axis':0,'axis':0}")) == "malformed");
    CHECK(error_of("{'kind':'\xff\xfe'}") == "malformed");
    CHECK(error_of(std::string("{'kind':'lay\0out'}", 18)) == "malformed");
    CHECK(error_of("{'kind':'\\ud800'}") == "malformed");
    CHECK(error_of("{'kind':'\\u0000\\n\xc3\xa9'}") == "unsupported");
    CHECK(error_of(std::string(1000000, '[')) == "malformed");
    CHECK(error_of("{'kind':" + std::string(1000000, '[') + std::string(1000000, ']') + "}") == "malformed");
    CHECK(error_of("{'kind':'" + std::string(1000000, 'x') + "'}") == "unsupported");
    CHECK(ask("{'kind':'" + std::string(1000000, 'x') + "'}").dump().size() < 300);
    CHECK(error_of(of("'layout':'A','ranks':2,'length':8") + "\r") == "none");
}

#ifdef SEQPAR_PROGRAM_INSPECT

namespace {

struct Run {
    int status;
    std::string output;
};

// Runs the program with `input` on its standard input.
Run run_program(const std::string& input) {
    std::string file = (std::filesystem::temp_directory_path() / "seqpar_requests_XXXXXX").string();
    const int descriptor = mkstemp(file.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    std::ofstream(file, std::ios::binary) << input;
    const std::string command = std::string("\"") + SEQPAR_PROGRAM_INSPECT + "\" < " + file;
    FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    char buffer[4096];
    for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        output.append(buffer, n);
    const int status = pclose(pipe);
    std::remove(file.c_str());
    return {status, output};
}

}  // namespace

TEST_CASE("the program answers every golden case and every bad line, one line each, and ends well") {
    std::ostringstream input;
    std::ostringstream expected;
    int lines = 0;
    for (const golden::Case& c : golden::cases("layouts")) {
        const std::string line = golden::request(c, {"shards", "restore"}).dump();
        input << line << '\n';
        expected << inspect::answer_line(line) << '\n';
        if (++lines % 7 == 0) {  // a bad line now and then
            input << "{\"kind\":\n";
            expected << inspect::answer_line("{\"kind\":") << '\n';
        }
    }
    input << "no end of line";
    expected << inspect::answer_line("no end of line") << '\n';
    const Run run = run_program(input.str());
    CHECK(run.status == 0);
    CHECK((run.output == expected.str()));
    CHECK(lines > 0);
}

TEST_CASE("the program ends well without a request") {
    const Run run = run_program("");
    CHECK(run.status == 0);
    CHECK(run.output.empty());
}

#endif

TEST_CASE("rows: of each placeholder's bank, masked, from bases, of either type of ids") {
    const auto rows = [](const std::string& rest) { return ask("{'kind':'rows','ids':[1,9,9,8,9]," + rest + "}"); };
    CHECK(rows("'placeholders':[9,8]") == json::parse(R"({"rows":[[-1,0,1,-1,2],[-1,-1,-1,0,-1]],"counts":[3,1]})"));
    CHECK(rows("'placeholders':[9],'valid':[1,1,0,1,1],'base':[5],'dtype':'int32'") ==
          json::parse(R"({"rows":[[-1,5,-1,-1,6]],"counts":[2]})"));
    CHECK(rows("'placeholders':[]") == json::parse(R"({"rows":[],"counts":[]})"));
    CHECK(kind_of(rows("'placeholders':[9,9]")) == "rule_repeated");
    CHECK(kind_of(rows("'placeholders':[9],'valid':[1]")) == "extent");
    CHECK(kind_of(rows("'placeholders':[9],'base':[1,2]")) == "param");
    CHECK(kind_of(rows("'placeholders':[9],'dtype':'int8'")) == "param");
    CHECK(kind_of(rows("'placeholders':[4294967305],'dtype':'int32'")) == "value_lost");
    CHECK(kind_of(rows("'placeholders':[0,1,2,3,4,5,6,7,8]")) == "rule_count");
    CHECK(kind_of(rows("'placeholders':[9],'layout':'A'")) == "unknown_key");
    CHECK(kind_of(ask("{'kind':'rows','ids':[4294967305],'placeholders':[9],'dtype':'int32'}")) == "param");
}
