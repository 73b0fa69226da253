// What libDAI makes of a factor graph: beside_libdai bp|jtree ITERATIONS REPEATS GRAPH.fg
// Prints the median seconds, then the marginal of each variable on a line of its own.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dai/bp.h>
#include <dai/factorgraph.h>
#include <dai/jtree.h>
#include <dai/properties.h>

using namespace dai;

double since(const std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print(const FactorGraph &graph, std::vector<double> taken, const std::vector<Factor> &beliefs) {
    std::nth_element(taken.begin(), taken.begin() + taken.size() / 2, taken.end());
    std::printf("%.9g\n", taken[taken.size() / 2]);
    for (std::size_t i = 0; i < graph.nrVars(); ++i) {
        for (std::size_t state = 0; state < graph.var(i).states(); ++state)
            std::printf("%s%.12g", state ? " " : "", double(beliefs[i][state]));
        std::printf("\n");
    }
}

template <class Algorithm>
std::vector<Factor> beliefs_of(const FactorGraph &graph, const Algorithm &algorithm) {
    std::vector<Factor> found;
    for (std::size_t i = 0; i < graph.nrVars(); ++i) found.push_back(algorithm.belief(graph.var(i)));
    return found;
}

// Iterations alone: what they work on is made once.
void propagate(const FactorGraph &graph, const PropertySet &options, int repeats) {
    std::vector<double> taken;
    BP bp(graph, options);
    for (int k = 0; k < repeats; ++k) {
        const auto begin = std::chrono::steady_clock::now();
        bp.init();
        bp.run();
        taken.push_back(since(begin));
    }
    print(graph, taken, beliefs_of(graph, bp));
}

// From the graph to marginals, the order of elimination included; once where that takes long.
void solve(const FactorGraph &graph, const PropertySet &options, int repeats) {
    std::vector<double> taken;
    std::vector<Factor> beliefs;
    for (int k = 0; k < repeats && (k == 0 || taken[0] < 1.0); ++k) {
        const auto begin = std::chrono::steady_clock::now();
        JTree tree(graph, options);
        tree.init();
        tree.run();
        beliefs = beliefs_of(graph, tree);
        taken.push_back(since(begin));
    }
    print(graph, taken, beliefs);
}

int main(int count, char **words) {
    if (count != 5) return 2;
    FactorGraph graph;
    graph.ReadFromFile(words[4]);
    PropertySet options;
    options.set("maxiter", std::size_t(std::atoi(words[2])));
    options.set("tol", Real(0.0));  // as many iterations as were asked for
    options.set("verbose", std::size_t(0));
    if (std::string(words[1]) == "bp") {
        options.set("updates", std::string("PARALL"));
        options.set("logdomain", false);
        propagate(graph, options, std::atoi(words[3]));
    } else {
        options.set("updates", std::string("HUGIN"));
        solve(graph, options, std::atoi(words[3]));
    }
    return 0;
}
