// What libDAI makes of a factor graph: beside_libdai bp|jtree ITERATIONS REPEATS GRAPH.fg
// Prints the median seconds of a run, then the marginal of each variable on a line of its own.

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

template <class Algorithm>
void answer(const FactorGraph &graph, const PropertySet &options, int repeats) {
    std::vector<double> taken;
    Algorithm algorithm(graph, options);
    for (int k = 0; k < repeats; ++k) {
        algorithm.init();
        const auto begin = std::chrono::steady_clock::now();
        algorithm.run();
        taken.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(taken.begin(), taken.begin() + repeats / 2, taken.end());
    std::printf("%.9g\n", taken[repeats / 2]);
    for (std::size_t i = 0; i < graph.nrVars(); ++i) {
        const Factor belief = algorithm.belief(graph.var(i));
        for (std::size_t state = 0; state < graph.var(i).states(); ++state)
            std::printf("%s%.12g", state ? " " : "", double(belief[state]));
        std::printf("\n");
    }
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
        answer<BP>(graph, options, std::atoi(words[3]));
    } else {
        options.set("updates", std::string("HUGIN"));
        answer<JTree>(graph, options, std::atoi(words[3]));
    }
    return 0;
}
