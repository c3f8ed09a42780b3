# ---
# jupyter:
#   kernelspec:
#     display_name: R
#     language: R
#     name: ir
#   portal:
#     packages: []
# ---

# %% [markdown]
# # Handwritten digits in R
#
# Reads data, trains a small neural network and draws how well it reads: with base R, without Keras
# or any other package.
#
# | | |
# |---|---|
# | **Data** | 10,000 real digits of MNIST in `isilon`: 8,000 for training, 2,000 for testing |
# | **Time** | about half a minute |
# | **Devices** | one core of the session; R's matrices do not use GPUs |
#
# Choose *Run*, *Restart Kernel and Run All Cells*.

# %%
source("../shared/digits_data.R")
source("../shared/digits_network.R")
source("../shared/digits_pictures.R")
options(repr.plot.width = 9, repr.plot.height = 2.6, repr.plot.res = 100)
cat(R.version.string, "\n")

# %% [markdown]
# ## The data
#
# Each image is a row of 28 x 28 grey values, from 0 (paper) to 1 (ink). The test images are not
# used for training.

# %%
digits <- load_digits()
cat(nrow(digits$train$images), "digits for training,", nrow(digits$test$images), "for testing\n")
draw_digits(digits$train$images, digits$train$labels[1:20])

# %% [markdown]
# ## Training
#
# One hidden layer of 128 units. The gradients are written out in
# `templates/shared/digits_network.R`: 20 lines. Each step takes 64 images, and the learning rate
# falls to zero from epoch to epoch.

# %%
EPOCHS <- 10
BATCH_SIZE <- 64
LEARNING_RATE <- 0.05

set.seed(1)
network <- make_network()
momentum <- NULL
training <- test <- numeric(EPOCHS)
for (epoch in seq_len(EPOCHS)) {
  rate <- LEARNING_RATE * (1 + cos(pi * (epoch - 1) / EPOCHS)) / 2
  batches <- matrix(sample(nrow(digits$train$images)), BATCH_SIZE)
  for (i in seq_len(ncol(batches))) {
    batch <- batches[, i]
    step <- take_step(
      network, digits$train$images[batch, ], digits$train$labels[batch], rate, momentum
    )
    network <- step$network
    momentum <- step$momentum
  }
  training[epoch] <- accuracy(network, lapply(digits$train, function(x) head(x, 2000)))
  test[epoch] <- accuracy(network, digits$test)
  cat(sprintf(
    "Epoch %d, Training Accuracy %.4f, Test Accuracy %.4f\n", epoch, training[epoch], test[epoch]
  ))
  flush.console()
}

# %% [markdown]
# ## How well it reads

# %%
options(repr.plot.width = 7, repr.plot.height = 3.5)
draw_curves(seq_len(EPOCHS), training, test)

# %% [markdown]
# Which digit was mistaken for which other one: the darker, the more often.

# %% tags=["gallery"]
probabilities <- read_digits(network, digits$test$images)$probabilities
read <- max.col(probabilities) - 1
options(repr.plot.width = 6, repr.plot.height = 5)
draw_confusion(digits$test$labels, read)

# %% [markdown]
# The digits that were read wrongly, the most confident mistakes first.

# %%
wrong <- which(read != digits$test$labels)
surest <- head(wrong[order(-apply(probabilities[wrong, ], 1, max))], 20)
options(repr.plot.width = 9, repr.plot.height = 2.6)
draw_digits(
  digits$test$images[surest, ], sprintf("%d, is %d", read[surest], digits$test$labels[surest]), RED
)
cat(sprintf("Figure: accuracy = %.4f\n", tail(test, 1)))

# %% [markdown]
# ## Save the network
#
# `saveRDS` saves any R object; `readRDS` loads it in the next session.

# %%
saveRDS(network, "digits.rds")
cat("Read back, it is the same:", identical(readRDS("digits.rds"), network), "\n")
