// The model that parity is measured with: that its gradients are those of its loss.
#include "one_process.hpp"

#include <doctest/doctest.h>

using namespace parity;

TEST_CASE("the gradient of each matrix is the slope of the loss along a random direction") {
    test::Random random(1);
    const Weights w = random_weights(random, Numbers::real);
    const Batch batch = BatchMaker(2, Numbers::real)
                            .text(2)
                            .item(image, {1, 2, 2})
                            .item(video, {2, 2, 1})
                            .text(3)
                            .end_document()
                            .text(4)
                            .item(image, {1, 1, 3})
                            .text(2)
                            .end_document()
                            .done();
    Result result = one_process(w, batch, Numbers::real, false);
    const std::vector<Matrix*> gradients = result.gradients.all();
    const auto loss_at = [&](std::size_t number, const Matrix& step) {
        Weights moved = w;
        *moved.all()[number] += step;
        return one_process(moved, batch, Numbers::real, false).loss;
    };
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        CAPTURE(i);
        for (int repeat = 0; repeat < 3; ++repeat) {
            Matrix direction = *gradients[i];
            fill(random, Numbers::real, 1, direction);
            const double slope = (loss_at(i, 1e-5 * direction) - loss_at(i, -1e-5 * direction)) / 2e-5;
            CHECK(slope != 0);
            CHECK(gradients[i]->cwiseProduct(direction).sum() == doctest::Approx(slope).epsilon(1e-6));
        }
    }
}
