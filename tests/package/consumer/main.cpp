// A program that uses seqpar as a user's would; tests/package builds it.
#include <seqpar/version.hpp>
#if __has_include(<seqpar/seqpar.hpp>)
#    include <seqpar/seqpar.hpp>
#endif

#include <cstdio>
#include <string>

int main() {
    const std::string version = std::to_string(seqpar::version_major) + "." + std::to_string(seqpar::version_minor) +
                                "." + std::to_string(seqpar::version_patch);
    std::printf("seqpar %s\n", version.c_str());
    return version == EXPECTED_VERSION ? 0 : 1;
}
