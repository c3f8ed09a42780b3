# ---
# jupyter:
#   kernelspec:
#     display_name: R
#     language: R
#     name: ir
#   portal:
#     packages: []
#     optional: true
# ---

# %% [markdown]
# # Handwritten digits in R
#
# Reads data, trains a small neural network written in R's own matrices, and draws how well it reads
# with ggplot2.
#
# | | |
# |---|---|
# | **Data** | 10,000 digits of MNIST: 7,000 to train, 1,000 to validate, 2,000 to test |
# | **Time** | about half a minute |
# | **Devices** | one core of the session; R's matrices do not use GPUs |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
library(ggplot2)
shared <- c("../shared", "~/templates/shared")
source(file.path(shared[dir.exists(shared)][1], "digits_data.R"))

theme_set(theme_minimal(base_size = 12))
options(repr.plot.width = 9, repr.plot.height = 3, repr.plot.res = 100)
cat(R.version.string, "\n")

# %% [markdown]
# ## The data
#
# Each image is a row of 28 x 28 grey values, from 0 (paper) to 1 (ink). The network learns from the
# training images; the validation images say how well it is doing while you choose units, rate and
# epochs; the test images are used once, at the end.

# %%
digits <- load_digits()
part <- function(rows) {
  list(images = digits$train$images[rows, ], labels = digits$train$labels[rows])
}
train <- part(1:7000)
validation <- part(7001:8000)
test <- digits$test

draw_digits <- function(images, titles) {
  n <- length(titles)
  # One row for each pixel of each digit, as ggplot2 likes it.
  pixels <- data.frame(
    digit = factor(rep(seq_len(n), each = 784)),
    x = rep(1:28, times = 28 * n),
    y = rep(rep(28:1, each = 28), times = n),
    ink = as.vector(t(images[seq_len(n), ]))
  )
  captions <- setNames(as.character(titles), seq_len(n))
  ggplot(pixels, aes(x, y, fill = ink)) +
    geom_raster() +
    scale_fill_gradient(low = "white", high = "black", guide = "none") +
    facet_wrap(~digit, ncol = 10, labeller = as_labeller(captions)) +
    coord_equal() +
    theme_void(base_size = 13)
}

draw_digits(train$images, train$labels[1:20])

# %% [markdown]
# ## The network
#
# One hidden layer of 128 units. `predict_digits` is the way forward; `take_step` computes the
# gradients of the loss by the chain rule, from the last layer back to the first, and moves the
# weights a little against them.

# %%
make_network <- function(n_inputs = 784, n_hidden = 128, n_outputs = 10) {
  random <- function(n, m) matrix(rnorm(n * m, sd = sqrt(2 / n)), n, m)
  list(
    hidden = random(n_inputs, n_hidden), hidden_bias = numeric(n_hidden),
    output = random(n_hidden, n_outputs), output_bias = numeric(n_outputs)
  )
}

predict_digits <- function(network, images) {
  hidden <- pmax(sweep(images %*% network$hidden, 2, network$hidden_bias, "+"), 0)
  scores <- sweep(hidden %*% network$output, 2, network$output_bias, "+")
  exponentials <- exp(scores - apply(scores, 1, max))
  list(hidden = hidden, probabilities = exponentials / rowSums(exponentials))
}

accuracy <- function(network, data) {
  probabilities <- predict_digits(network, data$images)$probabilities
  mean(max.col(probabilities) - 1 == data$labels)
}

# velocity: the direction in which each weight moves, from the step before.
take_step <- function(network, images, labels, rate, velocity) {
  layers <- predict_digits(network, images)
  error <- (layers$probabilities - outer(labels, 0:9, "==")) / length(labels)
  back <- (error %*% t(network$output)) * (layers$hidden > 0)
  gradients <- list(
    hidden = crossprod(images, back), hidden_bias = colSums(back),
    output = crossprod(layers$hidden, error), output_bias = colSums(error)
  )
  velocity <- Map(function(old, new) 0.9 * old + new, velocity, gradients)
  network <- Map(function(weights, move) weights - rate * move, network, velocity)
  list(network = network, velocity = velocity)
}

# %% [markdown]
# ## Training
#
# Each step takes 70 images, and the learning rate falls to zero from epoch to epoch.

# %%
EPOCHS <- 10
BATCH_SIZE <- 70
RATE <- 0.05

set.seed(1)
network <- make_network()
velocity <- lapply(network, function(weights) weights * 0)
history <- data.frame()
for (epoch in seq_len(EPOCHS)) {
  rate <- RATE * (1 + cos(pi * (epoch - 1) / EPOCHS)) / 2
  batches <- matrix(sample(nrow(train$images)), BATCH_SIZE)
  for (i in seq_len(ncol(batches))) {
    batch <- batches[, i]
    step <- take_step(network, train$images[batch, ], train$labels[batch], rate, velocity)
    network <- step$network
    velocity <- step$velocity
  }
  now <- c(training = accuracy(network, part(1:1000)), validation = accuracy(network, validation))
  history <- rbind(history, data.frame(epoch, accuracy = now, images = names(now)))
  cat(sprintf("Epoch %d  validation accuracy %.4f\n", epoch, now["validation"]))
  flush.console()
}

# %%
options(repr.plot.width = 7, repr.plot.height = 3.5)
ggplot(history, aes(epoch, accuracy, colour = images)) +
  geom_line(linewidth = 0.8) +
  geom_point() +
  scale_x_continuous(breaks = seq_len(EPOCHS), minor_breaks = NULL) +
  scale_y_continuous(labels = function(values) paste(100 * values, "%")) +
  scale_colour_manual(values = c(training = "#9aa5b1", validation = "#0b6bcb")) +
  labs(colour = NULL)

# %% [markdown]
# ## How well it reads
#
# Now, once, the test images. Which digit was mistaken for which other one?

# %% tags=["gallery"]
cat(sprintf("Test accuracy: %.4f\n", accuracy(network, test)))
probabilities <- predict_digits(network, test$images)$probabilities
predicted <- max.col(probabilities) - 1

counts <- as.data.frame(table(true = test$labels, predicted = predicted))
mistakes <- ifelse(counts$true == counts$predicted, 0, counts$Freq)
options(repr.plot.width = 6, repr.plot.height = 5)
ggplot(counts[counts$Freq > 0, ], aes(predicted, true)) +
  geom_tile(aes(fill = mistakes[counts$Freq > 0])) +
  geom_text(aes(label = Freq), size = 3.5) +
  scale_fill_gradient(low = "white", high = "#c0362c", guide = "none") +
  scale_y_discrete(limits = rev(as.character(0:9))) +
  coord_equal()

# %% [markdown]
# The digits that were misread, the most confident mistakes first.

# %%
wrong <- which(predicted != test$labels)
confident <- head(wrong[order(-apply(probabilities[wrong, ], 1, max))], 20)
options(repr.plot.width = 9, repr.plot.height = 3)
draw_digits(
  test$images[confident, ], sprintf("read %d, is %d", predicted[confident], test$labels[confident])
)

# %% [markdown]
# ## Save the network
#
# `saveRDS` saves any R object; `readRDS` loads it in the next session.

# %%
saveRDS(network, "digits.rds")
cat("Read back, it is the same:", identical(readRDS("digits.rds"), network), "\n")

# %% [markdown]
# **Packages:** this kernel has ggplot2, dplyr and data.table. `install.packages("torch")` or
# `install.packages("tidymodels")` installs others into your home, if your site reaches CRAN.
